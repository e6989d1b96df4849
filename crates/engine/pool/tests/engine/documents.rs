//! Documents and their index: the pages that a change writes, the conversion of an older release's
//! list into an index, and the effect of damage.
use crate::common::{Rig, options};
use bytes::Bytes;
use media::{Fate, Fault, FaultEffect, FaultOperation, SimDisk};
use pool::{CatalogChange, Incident, ObjectId, ObjectKind, Operation, Options, Output, PoolError};
use random::Random;
use std::collections::BTreeMap;

type Documents = BTreeMap<String, Bytes>;

const BLOCKS: u64 = 2048 * 12;
const LOG_BYTES: u64 = 4 << 20;
/// Superblock feature bit of the index.
const INDEX_BIT: u64 = 1 << 9;

fn put(key: &str, value: impl Into<Bytes>) -> CatalogChange {
    CatalogChange::PutDocument { key: key.to_owned(), value: value.into() }
}

/// Commits changes, and applies them to `expected` too.
fn commit(rig: &mut Rig, expected: &mut Documents, changes: Vec<CatalogChange>) {
    for change in &changes {
        match change {
            CatalogChange::PutDocument { key, value } => drop(expected.insert(key.clone(), value.clone())),
            CatalogChange::DeleteDocument { key } => drop(expected.remove(key)),
            _ => {}
        }
    }
    rig.run(Operation::Catalog(changes)).unwrap();
}

/// Stores `count` documents of about 250 bytes.
fn store_many(rig: &mut Rig, expected: &mut Documents, count: u32) {
    let all: Vec<u32> = (0..count).collect();
    for some in all.chunks(500) {
        let changes = some.iter().map(|n| put(&format!("volume/{n:08}"), vec![*n as u8; 240 + (n % 20) as usize]));
        commit(rig, expected, changes.collect());
    }
}

/// Incompatible features in each superblock copy of the disk.
fn features(disk: &SimDisk) -> Vec<u64> {
    let copies =
        disk.stored().into_iter().map(|block| disk.peek(block)).filter(|block| block.0.starts_with(b"WINDLASS"));
    copies.map(|block| u64::from_le_bytes(block.0[16..24].try_into().unwrap())).collect()
}

/// Copy of the disk with all writes applied.
fn at_rest(rig: &Rig) -> SimDisk {
    rig.disk.crashed_copy(|_| Fate::Applied)
}

fn listing(incarnation: u64) -> Options {
    Options { list_documents: true, ..options(incarnation) }
}

/// Numbers of the disk blocks that hold pages of the index.
fn index_pages(disk: &SimDisk) -> Vec<u64> {
    let is_page = |block: &u64| {
        let content = disk.peek(*block);
        content.0.starts_with(b"WLix") || content.0.starts_with(b"WLiv")
    };
    disk.stored().into_iter().filter(is_page).collect()
}

#[test]
fn one_changed_document_among_many_writes_little() {
    let mut rig = Rig::with_log(BLOCKS, LOG_BYTES);
    let mut expected = Documents::new();
    store_many(&mut rig, &mut expected, 20_000);
    rig.core.checkpoint().unwrap();
    rig.core.checkpoint().unwrap();
    for (key, bytes) in [("volume/00000077", 250), ("volume/00010000", 900), ("new", 3000), ("volume/00019999", 10)] {
        let before = rig.core.counters().checkpoint_bytes;
        commit(&mut rig, &mut expected, vec![put(key, vec![9; bytes])]);
        rig.core.checkpoint().unwrap();
        let written = rig.core.counters().checkpoint_bytes - before;
        println!("{key}: {written} bytes");
        assert!(written <= 64 << 10, "{key}: {written} bytes");
    }
    rig.assert_clean();
    // Opening reads each page in use once.
    let pages = index_pages(&at_rest(&rig)).len() as u64;
    let before = rig.disk.counters().reads;
    let mut rig = rig.crash();
    let reads = rig.disk.counters().reads - before;
    println!("{reads} reads to open, {pages} blocks hold pages of the index");
    assert!(reads < pages + 100, "{reads} reads, {pages} pages");
    assert_eq!(rig.core.documents(), &expected);
    rig.assert_clean();
}

#[test]
fn documents_that_come_grow_shrink_and_go_are_what_they_should_be() {
    for seed in 0..4 {
        let numbers = Random::new(seed);
        let mut rig = Rig::with_log(BLOCKS, LOG_BYTES);
        let mut expected = Documents::new();
        for round in 0..60 {
            let keys = [10, 300, 2000][seed as usize % 3];
            // Rounds that mostly store, and rounds that mostly remove.
            let removes = if round / 12 % 2 == 0 { 2 } else { 8 };
            let changes = (0..1 + numbers.below(40)).map(|_| {
                let key = format!("{}/{}", "kind".repeat(numbers.below(9) as usize), numbers.below(keys));
                if numbers.below(10) < removes {
                    return CatalogChange::DeleteDocument { key };
                }
                let most = [30, 300, 3000, 3000, 65_536][numbers.below(5) as usize];
                put(&key, vec![round as u8; numbers.below(most) as usize])
            });
            let changes = changes.collect();
            commit(&mut rig, &mut expected, changes);
            if numbers.below(2) == 0 {
                rig.core.checkpoint().unwrap();
            }
            if numbers.below(6) == 0 {
                rig = rig.crash();
                assert_eq!(rig.core.documents(), &expected, "seed {seed}, round {round}");
                rig.assert_clean();
            }
        }
        let all = expected.keys().map(|key| CatalogChange::DeleteDocument { key: key.clone() }).collect();
        commit(&mut rig, &mut expected, all);
        rig.core.checkpoint().unwrap();
        rig.core.checkpoint().unwrap();
        assert_eq!(rig.core.space().metadata_bytes, Rig::with_log(BLOCKS, LOG_BYTES).core.space().metadata_bytes);
        let mut rig = rig.crash();
        assert!(rig.core.documents().is_empty());
        rig.assert_clean();
    }
}

/// Creates a pool whose documents are a list as an older release wrote it: with blocks of zeros,
/// which are not stored.
fn with_a_list() -> (SimDisk, Documents) {
    let rig = Rig::with_log(2048 * 3, 256 << 10);
    let mut rig = Rig::on(rig.disk.crash(), listing(2)).unwrap();
    let mut expected = Documents::new();
    rig.create(100);
    for (n, bytes) in [300, 60_000, 9_000, 40_000, 5, 20_000].into_iter().enumerate() {
        let byte = if n % 2 == 1 { 0 } else { 7 };
        commit(&mut rig, &mut expected, vec![put(&format!("document/{n}"), vec![byte; bytes])]);
    }
    rig.core.checkpoint().unwrap();
    commit(&mut rig, &mut expected, vec![put("document/2", vec![0; 9_500])]);
    rig.core.checkpoint().unwrap();
    rig.assert_clean();
    assert_eq!(features(&rig.disk), [0; 4]);
    (at_rest(&rig), expected)
}

#[test]
fn a_list_stays_one_until_a_document_changes_and_becomes_an_index_then() {
    let (disk, mut expected) = with_a_list();
    let mut rig = Rig::on(disk, options(3)).unwrap();
    assert_eq!(rig.core.documents(), &expected);
    rig.write(ObjectId(16), 3, 5, 1).unwrap();
    rig.core.checkpoint().unwrap();
    assert_eq!((features(&rig.disk), index_pages(&rig.disk).len()), (vec![0; 4], 0));
    // An older release continues with it.
    let mut rig = Rig::on(at_rest(&rig), listing(4)).unwrap();
    assert_eq!(rig.core.documents(), &expected);
    commit(&mut rig, &mut expected, vec![put("document/9", vec![3; 7000])]);
    rig.core.checkpoint().unwrap();
    assert_eq!(features(&rig.disk), [0; 4]);
    let mut rig = Rig::on(at_rest(&rig), options(5)).unwrap();
    commit(&mut rig, &mut expected, vec![put("document/4", vec![4; 44])]);
    rig.core.checkpoint().unwrap();
    assert_eq!(features(&rig.disk), [INDEX_BIT; 4]);
    rig.assert_clean();
    // An index stays an index, whatever the options request.
    let mut rig = Rig::on(at_rest(&rig), listing(6)).unwrap();
    assert_eq!(rig.core.documents(), &expected);
    commit(&mut rig, &mut expected, vec![CatalogChange::DeleteDocument { key: "document/1".to_owned() }]);
    rig.core.checkpoint().unwrap();
    let mut rig = Rig::on(at_rest(&rig), options(7)).unwrap();
    assert_eq!(rig.core.documents(), &expected);
    rig.assert_clean();
}

/// The power fails after each write and each flush of the checkpoint that creates the index.
#[test]
fn a_crash_inside_a_conversion_leaves_the_list_or_the_index() {
    let (disk, expected) = with_a_list();
    let (mut lists, mut indexes) = (0, 0);
    for operation in [FaultOperation::Write, FaultOperation::Flush] {
        for after in 0.. {
            let disk = disk.crashed_copy(|_| Fate::Applied);
            let mut rig = Rig::on(disk, options(3)).unwrap();
            let mut expected = expected.clone();
            commit(&mut rig, &mut expected, vec![put("document/0", vec![8; 30_000])]);
            rig.disk.plant(Fault::sticky(operation, FaultEffect::Error).after(after));
            let finished = rig.core.checkpoint().is_ok();
            for seed in 0..3 {
                let numbers = Random::new(after * 3 + seed);
                let fates = [Fate::Applied, Fate::Lost, Fate::TornSectors];
                let disk = rig.disk.crashed_copy(|_| fates[numbers.below(3) as usize]);
                disk.clear_faults();
                let mut rig = Rig::on(disk, options(4)).unwrap();
                assert_eq!(rig.core.documents(), &expected, "{operation:?} {after}");
                match features(&rig.disk)[0] {
                    0 => lists += 1,
                    _ => indexes += 1,
                }
                rig.assert_clean();
                rig.core.checkpoint().unwrap();
                rig.assert_clean();
                let rig = Rig::on(at_rest(&rig), options(5)).unwrap();
                assert_eq!(rig.core.documents(), &expected, "{operation:?} {after}");
            }
            if finished {
                break;
            }
        }
    }
    println!("{lists} lists and {indexes} indexes were left");
    assert!(lists > 10 && indexes > 2, "{lists} {indexes}");
}

/// A conversion during a recovery that takes checkpoints, with less memory than the documents need.
#[test]
fn a_recovery_converts_too() {
    let (disk, mut expected) = with_a_list();
    let mut rig = Rig::on(disk, options(3)).unwrap();
    for n in 0..30 {
        commit(&mut rig, &mut expected, vec![put(&format!("more/{n}"), vec![n; 100])]);
        rig.write(ObjectId(16), u64::from(n) * 3, 3, n + 1).unwrap();
    }
    let small = Options { memory_bytes: 64 << 10, ..options(4) };
    let mut rig = Rig::on(rig.disk.crash(), small).unwrap();
    assert!(rig.core.counters().checkpoints > 0);
    assert_eq!(features(&rig.disk), [INDEX_BIT; 4]);
    assert_eq!(rig.core.documents(), &expected);
    rig.assert_clean();
}

#[test]
fn a_damaged_page_of_the_index_keeps_the_pool_closed_and_a_check_in_use_finds_it() {
    let mut rig = Rig::with_log(2048 * 3, 1 << 20);
    let mut expected = Documents::new();
    store_many(&mut rig, &mut expected, 300);
    commit(&mut rig, &mut expected, vec![put("long", vec![1; 9000])]);
    rig.core.checkpoint().unwrap();
    let disk = at_rest(&rig);
    let pages = index_pages(&disk);
    assert!(pages.len() > 20);
    for page in pages {
        let disk = disk.crashed_copy(|_| Fate::Applied);
        let mut rig = Rig::on(disk, options(3)).unwrap();
        let check = |rig: &mut Rig| loop {
            let Output::Check(step) = rig.run(Operation::CheckStep).unwrap() else { panic!() };
            if let Some(report) = step.report {
                return report.findings;
            }
        };
        assert_eq!(check(&mut rig), Vec::<String>::new());
        rig.disk.damage(page, |content| content[100] ^= 4);
        let findings = check(&mut rig);
        assert!(findings.len() == 1 && findings[0].starts_with("the documents: index page "), "{findings:?}");
        let disk = rig.disk.crash();
        match Rig::on(disk, options(4)).map(|_| ()) {
            Err(PoolError::Damaged(reason)) => assert!(reason.starts_with("the documents: index page "), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

/// A pool with an index of 300 documents, opened, one of which has changed since.
fn with_an_index() -> (Rig, Documents) {
    let mut rig = Rig::with_log(2048 * 3, 1 << 20);
    let mut expected = Documents::new();
    store_many(&mut rig, &mut expected, 300);
    commit(&mut rig, &mut expected, vec![put("long", vec![1; 9000])]);
    rig.core.checkpoint().unwrap();
    let mut rig = Rig::on(at_rest(&rig), options(2)).unwrap();
    commit(&mut rig, &mut expected, vec![put("volume/00000007", vec![1; 250])]);
    (rig, expected)
}

/// The checkpoint writes the index anew from the documents in memory, with an incident that says so.
fn assert_heals(mut rig: Rig, mut expected: Documents) {
    rig.core.checkpoint().unwrap();
    let incidents = rig.core.take_incidents();
    let said = |incident: &Incident| matches!(incident, Incident::Metadata(text) if text.contains("written anew"));
    assert!(incidents.len() == 1 && incidents.iter().all(said), "{incidents:?}");
    rig.disk.clear_faults();
    rig.assert_clean();
    // The next one writes changes only.
    let before = rig.core.counters().checkpoint_bytes;
    commit(&mut rig, &mut expected, vec![put("volume/00000008", vec![2; 250])]);
    rig.core.checkpoint().unwrap();
    assert!(rig.core.counters().checkpoint_bytes - before <= 64 << 10);
    assert_eq!(rig.core.take_incidents(), Vec::new());
    let mut rig = Rig::on(at_rest(&rig), options(3)).unwrap();
    assert_eq!(rig.core.documents(), &expected);
    rig.assert_clean();
    rig.core.checkpoint().unwrap();
    rig.assert_clean();
}

#[test]
fn unreadable_pages_of_the_index_are_replaced() {
    let (rig, expected) = with_an_index();
    for page in index_pages(&rig.disk) {
        rig.disk.plant(Fault::sticky(FaultOperation::Read, FaultEffect::Error).on_blocks(page..page + 1));
    }
    assert_heals(rig, expected);
}

#[test]
fn damaged_pages_of_the_index_are_replaced() {
    let (rig, expected) = with_an_index();
    for page in index_pages(&rig.disk) {
        rig.disk.damage(page, |content| content[100] ^= 4);
    }
    assert_heals(rig, expected);
}

/// A full pool has no room for a new index: it stops with the reason, and opens when the page can be read again.
#[test]
fn an_unreadable_page_of_the_index_stops_a_pool_without_room_for_another() {
    let mut rig = Rig::with_log(2048 * 3, 1 << 20);
    let mut expected = Documents::new();
    for n in 0..100 {
        commit(&mut rig, &mut expected, vec![put(&format!("long/{n}"), vec![1; 40_000])]);
        rig.core.checkpoint().unwrap();
    }
    let thin = rig.create(4 * 2048);
    let full = (0..4 * 2048).find(|block| rig.write(thin, *block, 1, 3).is_err());
    assert!(full.is_some());
    rig.core.checkpoint().unwrap();
    let mut rig = rig.crash();
    commit(&mut rig, &mut expected, vec![put("long/7", vec![2; 40_000])]);
    for page in index_pages(&rig.disk) {
        rig.disk.plant(Fault::sticky(FaultOperation::Read, FaultEffect::Error).on_blocks(page..page + 1));
    }
    let stopped = rig.core.checkpoint();
    let is_expected = |reason: &str| reason.contains("cannot be read") && reason.contains("no space is left");
    assert!(matches!(&stopped, Err(PoolError::Stopped(reason)) if is_expected(reason)), "{stopped:?}");
    let disk = at_rest(&rig);
    disk.clear_faults();
    let mut rig = Rig::on(disk, options(9)).unwrap();
    assert_eq!(rig.core.documents(), &expected);
    rig.core.checkpoint().unwrap();
    rig.assert_clean();
}

/// Documents change in a full pool: the checkpoint may allocate the pages of their index.
#[test]
fn a_full_pool_stores_documents_as_long_as_it_says_so() {
    let mut refused = 0;
    for count in [1, 40, 400] {
        let mut rig = Rig::with_log(2048 * 3, 1 << 20);
        let mut expected = Documents::new();
        store_many(&mut rig, &mut expected, count);
        rig.core.checkpoint().unwrap();
        let thin = rig.create(4 * 2048);
        let full = (0..4 * 2048).find(|block| rig.write(thin, *block, 1, 3).is_err());
        assert!(full.is_some());
        let numbers = Random::new(u64::from(count));
        let mut stored = 0;
        for _ in 0..200 {
            let key = format!("volume/{:08}", numbers.below(u64::from(count) * 2));
            let value = vec![5; [30, 250, 3000, 30_000][numbers.below(4) as usize]];
            match rig.change(put(&key, value.clone())) {
                Ok(()) => {
                    expected.insert(key, value.into());
                    stored += 1;
                }
                Err(_) => refused += 1,
            }
            assert_eq!(rig.core.overdrawn_blocks(), 0);
            // Many documents at once, none of which grows.
            let many = expected.iter().step_by(3).map(|(key, value)| put(key, vec![6; value.len()]));
            let many: Vec<CatalogChange> = many.take(1 + numbers.below(80) as usize).collect();
            if rig.run(Operation::Catalog(many.clone())).is_ok() {
                expected.extend(many.into_iter().filter_map(|change| match change {
                    CatalogChange::PutDocument { key, value } => Some((key, value)),
                    _ => None,
                }));
            }
            assert_eq!(rig.core.overdrawn_blocks(), 0);
            if numbers.below(4) == 0 {
                rig.core.checkpoint().unwrap();
            }
        }
        println!("{count} documents: {stored} changes");
        assert!(stored > 10, "{stored}");
        rig.assert_clean();
        let mut rig = rig.crash();
        assert_eq!(rig.core.documents(), &expected);
        rig.zero(thin, 0, 4 * 2048).unwrap();
        rig.settle();
        rig.assert_clean();
    }
    assert!(refused > 0);
}

/// A full pool of an older release, whose reserves were those of a list: an index of its documents
/// would need about three times as much.
#[test]
fn a_full_pool_with_a_list_keeps_it_until_there_is_room_for_an_index() {
    let rig = Rig::with_log(2048 * 3, 4 << 20);
    let mut rig = Rig::on(rig.disk.crash(), listing(2)).unwrap();
    let mut expected = Documents::new();
    for n in 0..500 {
        commit(&mut rig, &mut expected, vec![put(&format!("volume/{n:08}"), vec![n as u8; 2050])]);
    }
    let spread = rig.create(400 * 256);
    for leaf in 0..400 {
        rig.write(spread, leaf * 256, 2, 5).unwrap();
    }
    let clone = rig.clone_of(spread, ObjectKind::Volume).unwrap();
    let thin = rig.create(4 * 2048);
    rig.core.checkpoint().unwrap();
    let full = (0..4 * 2048).find(|block| rig.write(thin, *block, 1, 3).is_err()).unwrap();
    // Each UNMAP of a shared leaf needs a page, until only what a checkpoint takes is left.
    let refused = (0..400).find(|leaf| rig.zero(clone, leaf * 256, 1).is_err());
    println!("full at block {full}, UNMAP refused at leaf {refused:?}");
    assert!(refused.is_some());
    commit(&mut rig, &mut expected, vec![put("volume/00000007", vec![9; 2050])]);
    let mut rig = Rig::on(rig.disk.crash(), options(3)).unwrap();
    assert_eq!(rig.core.overdrawn_blocks(), 0);
    rig.core.checkpoint().unwrap();
    rig.assert_clean();
    assert_eq!(features(&rig.disk), [0; 4]);
    rig.zero(thin, 0, full).unwrap();
    rig.settle();
    rig.assert_clean();
    assert_eq!(rig.core.documents(), &expected);
    // Now there is room.
    commit(&mut rig, &mut expected, vec![put("volume/00000008", vec![9; 2050])]);
    rig.core.checkpoint().unwrap();
    assert_eq!(features(&rig.disk), [INDEX_BIT; 4]);
    rig.assert_clean();
    let mut rig = Rig::on(at_rest(&rig), options(4)).unwrap();
    assert_eq!(rig.core.documents(), &expected);
    rig.assert_clean();
}
