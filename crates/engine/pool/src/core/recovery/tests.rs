//! Roots, lists and log records of the documents that no release has written.
#![expect(clippy::unwrap_used, reason = "tests")]

use super::{FENCE, await_ticket};
use crate::catalog::documents::Stored;
use crate::core::checkpoint::root::{Root, TreeRoot};
use crate::geometry::Pointer;
use crate::index::IndexRoot;
use crate::log::record;
use crate::{CatalogChange, Core, Operation, Options, PoolError, initial_root};
use bytes::Bytes;
use media::{
    BLOCK_BYTES, Done, Fate, Fault, FaultEffect, FaultOperation, FormatOptions, LocalMedia, LogStore, Media, RootStore,
    SimDisk, SimOptions,
};

type Engine = Core<LocalMedia<SimDisk>>;

fn options(list_documents: bool) -> Options {
    Options { memory_bytes: 8 << 20, incarnation: 1, list_documents, ..Options::default() }
}

fn made(list_documents: bool) -> (SimDisk, Engine) {
    let disk = SimDisk::new(SimOptions::immediate(1, 2048 * 4));
    let uuid = [7; 16];
    let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
    let media = LocalMedia::format(disk.clone(), format).unwrap();
    (disk, Core::open(media, options(list_documents), &mut |_| {}).unwrap().0)
}

fn put(key_bytes: usize, value_bytes: usize) -> CatalogChange {
    CatalogChange::PutDocument { key: "k".repeat(key_bytes), value: Bytes::from(vec![1; value_bytes]) }
}

fn commit(core: &mut Engine, changes: Vec<CatalogChange>) {
    let id = core.submit(Operation::Catalog(changes));
    loop {
        core.pump(8);
        if let Some(result) = core.take_finished(id) {
            return drop(result.unwrap());
        }
        core.medium.media_mut().wait();
    }
}

/// Result of opening the pool after a crash.
fn opened(disk: &SimDisk) -> Result<(), PoolError> {
    let disk = disk.crashed_copy(|_| Fate::Applied);
    Core::open(LocalMedia::open(disk).unwrap(), options(false), &mut |_| {}).map(|_| ())
}

fn refused(disk: &SimDisk, why: &str) {
    match opened(disk) {
        Err(PoolError::Damaged(reason)) => assert!(reason.contains(why), "{reason}"),
        other => panic!("{other:?}"),
    }
}

/// A copy of the disk with another root.
fn with_root(disk: &SimDisk, change: impl Fn(&mut Root)) -> SimDisk {
    let disk = disk.crashed_copy(|_| Fate::Applied);
    let mut media = LocalMedia::open(disk.clone()).unwrap();
    media.load_root(0);
    let Done::Root(blob, version) = await_ticket(&mut media, 0).unwrap() else { panic!() };
    let mut root = Root::decode(&blob).unwrap();
    change(&mut root);
    media.seal(&FENCE, 0);
    await_ticket(&mut media, 0).unwrap();
    media.swap_root(&FENCE, 0, version, &root.encode());
    await_ticket(&mut media, 0).unwrap();
    disk
}

#[test]
fn length_and_level_of_the_index_are_verified_at_open() {
    let (disk, mut core) = made(false);
    commit(&mut core, (1..200).map(|bytes| put(bytes, 300)).collect());
    core.checkpoint().unwrap();
    opened(&with_root(&disk, |_| {})).unwrap();
    let pages = core.map.objects().get(crate::catalog::DOCUMENTS).unwrap().mapped;
    let length = |bytes: u64| {
        with_root(&disk, |root| {
            root.documents = TreeRoot::new(root.documents.pointer(), bytes);
        })
    };
    let block = BLOCK_BYTES as u64;
    for bytes in [u64::MAX, 1 << 50, (block << 24) + 1] {
        refused(&length(bytes), "the root gives the index of the documents a length of");
    }
    opened(&length(block << 24)).unwrap();
    // Pages are numbered from 1.
    opened(&length((pages + 1) * block)).unwrap();
    for bytes in [0, pages * block] {
        refused(&length(bytes), "belongs to the index, the root gives it");
    }
    for level in [0, 1, 3] {
        let disk = with_root(&disk, |root| {
            let tree = root.documents;
            root.documents = TreeRoot::new(Pointer { level, ..tree.pointer() }, tree.length());
        });
        refused(&disk, "the root gives the map of the documents level");
    }
}

#[test]
fn an_index_without_its_feature_bit_is_refused() {
    let (disk, mut core) = made(false);
    core.checkpoint().unwrap();
    opened(&with_root(&disk, |_| {})).unwrap();
    let disk = with_root(&disk, |root| root.stored_documents = Stored::Index(IndexRoot::default()));
    refused(&disk, "lacks its feature bit");
}

/// Documents that are too long for the index: a list of them could be converted, and the index
/// never be read.
#[test]
fn a_list_with_documents_of_impossible_size_is_refused() {
    for (key, value, good) in [(255, 65_536, true), (256, 1, false), (600, 1, false), (1, 65_537, false)] {
        let (disk, mut core) = made(true);
        commit(&mut core, vec![put(1, 1)]);
        let CatalogChange::PutDocument { key, value } = put(key, value) else { panic!() };
        core.map.put_document(&key, value);
        core.checkpoint().unwrap();
        match good {
            true => opened(&disk).unwrap(),
            false => refused(&disk, "a document has a key of"),
        }
    }
}

#[test]
fn a_log_record_with_a_document_of_impossible_size_is_refused() {
    for (key, value, good) in [(255, 65_536, true), (256, 1, false), (1, 65_537, false)] {
        let (disk, mut core) = made(false);
        let change = put(key, value);
        core.log.append(|out| record::encode_catalog(out, &[change], &[]));
        // The next operation completes the frame.
        commit(&mut core, vec![put(1, 1)]);
        match good {
            true => opened(&disk).unwrap(),
            false => refused(&disk, "is about what does not exist"),
        }
    }
}

/// Regression: replay that was short of memory asked for a checkpoint while an older one, held up by
/// a full file system, was in flight. The end of the older one was taken for that of the requested
/// one, and the requests of the newer one were still in flight when replay read its next pages:
/// their completions got lost, and the pool did not open ("the medium did not answer a read").
#[test]
fn nothing_is_in_flight_after_a_checkpoint_that_followed_another() {
    let mut tried = 0;
    for seed in 1..17 {
        let disk = SimDisk::new(SimOptions::new(seed, 2048 * 4));
        let uuid = [7; 16];
        let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(disk.clone(), format).unwrap();
        let mut core = Core::open(media, options(true), &mut |_| {}).unwrap().0;
        commit(&mut core, vec![put(8, 100)]);
        core.request_checkpoint();
        for _ in 0..1000 {
            if core.checkpoints.in_flight() {
                break;
            }
            core.pump(0);
            if !core.checkpoints.in_flight() {
                core.medium.media_mut().wait();
            }
        }
        // With some orders of completions it is complete before anybody could see it in flight.
        if !core.checkpoints.in_flight() {
            continue;
        }
        tried += 1;
        let before = core.counters.checkpoints;
        core.submit(Operation::Catalog(vec![put(9, 100)]));
        core.request_checkpoint();
        core.run_checkpoint().unwrap();
        assert!(core.counters.checkpoints > before && core.medium.in_flight() == 0, "seed {seed}");
    }
    assert!(tried > 8, "{tried} of 16 seeds had a checkpoint in flight");
}

/// A durable write of a frame whose flush failed leaves a frame that the disk returns until its power
/// fails. Replay takes it, and later frames continue behind it: their acknowledged records must not
/// be lost with it.
#[test]
fn a_frame_whose_write_failed_takes_no_later_record_with_it() {
    let (disk, mut core) = made(false);
    commit(&mut core, vec![put(1, 1)]);
    disk.plant(Fault::once(FaultOperation::Write, FaultEffect::ErrorAfterEffect).on_blocks(256..512));
    core.submit(Operation::Catalog(vec![put(2, 1)]));
    core.pump(0);
    assert!(core.stopped().is_some_and(|reason| reason.contains("a log write failed")));
    drop(core);
    // The process starts again, and the disk keeps its power.
    let media = LocalMedia::open(disk.clone()).unwrap();
    let (mut core, replayed) = Core::open(media, options(false), &mut |_| {}).unwrap();
    assert_eq!(replayed.records, 2);
    commit(&mut core, vec![put(3, 1)]);
    drop(core);
    opened(&disk.crashed_copy(|_| Fate::Lost)).unwrap();
}

/// The frame in doubt finds no room below when it is written again: the pool opens, and acknowledges
/// nothing before there is room.
#[test]
fn a_frame_in_doubt_without_room_below_holds_acknowledgements_back() {
    let (disk, mut core) = made(false);
    commit(&mut core, vec![put(1, 1)]);
    disk.plant(Fault::once(FaultOperation::Write, FaultEffect::ErrorAfterEffect).on_blocks(256..512));
    core.submit(Operation::Catalog(vec![put(2, 1)]));
    core.pump(0);
    drop(core);
    disk.plant(Fault::sticky(FaultOperation::Write, FaultEffect::NoSpace).on_blocks(256..512));
    for incarnation in 2..4 {
        let media = LocalMedia::open(disk.clone()).unwrap();
        let options = Options { incarnation, ..options(false) };
        let (mut core, replayed) = Core::open(media, options, &mut |_| {}).unwrap();
        assert_eq!(replayed.records, 2);
        assert!(core.has_parked_writes() && core.log.durable_sequence() < core.log.next_sequence());
        for _ in 0..20 {
            core.pump(0);
        }
        assert_eq!(core.stopped(), None);
        if incarnation == 3 {
            disk.clear_faults();
            while core.has_parked_writes() {
                core.pump(0);
                core.medium.media_mut().wait();
            }
            commit(&mut core, vec![put(3, 1)]);
        } else {
            assert_eq!(core.checkpoint(), Err(PoolError::PoolFull));
        }
    }
    let disk = disk.crashed_copy(|_| Fate::Lost);
    let (core, replayed) = Core::open(LocalMedia::open(disk).unwrap(), options(false), &mut |_| {}).unwrap();
    assert_eq!((replayed.records, core.log.durable_sequence()), (3, core.log.next_sequence()));
}
