#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use super::*;
use crate::superblock::{FEATURE_INDEX, FEATURE_WIDE, FORMAT_VERSION};
use crate::{Block, Fate, Fault, FaultEffect, FaultOperation, SimDisk, SimOptions};

const BLOCKS: u64 = 4096;
const COPY_BLOCKS: [u64; 4] = [0, 1, 272, 4095];
const FENCE: Fence = Fence { epoch: 5 };

fn options() -> FormatOptions {
    FormatOptions { uuid: *b"0123456789abcdef", log_bytes: 64 << 10, root: b"root 1".to_vec(), overwrite: false }
}

fn root(version: u64) -> Vec<u8> {
    format!("root {version}").into_bytes()
}

/// New pool, and a handle to its disk.
fn pool(sim: SimOptions) -> (SimDisk, LocalMedia<SimDisk>) {
    let disk = SimDisk::new(sim);
    (disk.clone(), LocalMedia::format(disk, options()).unwrap())
}

fn quiet() -> SimOptions {
    SimOptions { delay: 0, reorder: false, ..SimOptions::new(1, BLOCKS) }
}

/// Each `wait` on the disk completes exactly one request; no other call completes any.
fn stepped() -> SimOptions {
    SimOptions { delay: 256, ..quiet() }
}

fn finish<D: Disk>(media: &mut LocalMedia<D>) -> Completion {
    media.wait();
    media.poll().unwrap()
}

fn loaded<D: Disk>(media: &mut LocalMedia<D>) -> (Vec<u8>, u64) {
    media.load_root(77);
    match finish(media) {
        Completion { ticket: 77, result: Ok(Done::Root(root, version)) } => (root, version),
        other => panic!("{other:?}"),
    }
}

fn swap<D: Disk>(media: &mut LocalMedia<D>, version: u64) -> Result<Done, MediaError> {
    media.swap_root(&FENCE, 78, version, &root(version + 1));
    let completion = finish(media);
    assert_eq!(completion.ticket, 78);
    completion.result
}

fn refusal(disk: SimDisk) -> String {
    match LocalMedia::open(disk) {
        Err(MediaError::BadRoot(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// Disk after an orderly shutdown.
fn rest(disk: &SimDisk) -> SimDisk {
    disk.crashed_copy(|_| Fate::Applied)
}

#[test]
fn a_new_pool_opens_with_its_first_root() {
    let (disk, mut media) = pool(SimOptions::new(1, BLOCKS));
    assert_eq!(loaded(&mut media), (root(1), 1));
    let mut media = LocalMedia::open(disk.crash()).unwrap();
    assert_eq!(loaded(&mut media), (root(1), 1));
    assert_eq!(media.uuid(), *b"0123456789abcdef");
    assert_eq!((media.log_bytes(), media.block_count()), (64 << 10, BLOCKS));
    assert_eq!((media.data_start(), media.data_end()), (BlockAddress::new(2048), BlockAddress::new(4095)));
    assert!(media.damaged_copies().is_empty());
}

#[test]
fn a_root_is_replaced_when_its_version_is_the_expected_one() {
    let (disk, mut media) = pool(SimOptions::new(2, BLOCKS));
    for version in 1..20 {
        assert!(matches!(swap(&mut media, version), Ok(Done::Written(None))));
        assert_eq!(loaded(&mut media), (root(version + 1), version + 1));
    }
    assert_eq!(swap(&mut media, 7).unwrap_err(), MediaError::RootConflict { expected: 7, found: 20 });
    assert!(matches!(
        {
            media.swap_root(&FENCE, 1, 20, &[0; MAX_ROOT_BYTES + 1]);
            finish(&mut media).result
        },
        Err(MediaError::BadRoot(_))
    ));
    let mut media = LocalMedia::open(disk.crash()).unwrap();
    assert_eq!(loaded(&mut media), (root(20), 20));
}

#[test]
fn swaps_in_flight_queue_up() {
    let (_, mut media) = pool(SimOptions::new(3, BLOCKS));
    media.swap_root(&FENCE, 1, 1, &root(2));
    media.swap_root(&FENCE, 2, 2, &[9; MAX_ROOT_BYTES]);
    media.swap_root(&FENCE, 3, 2, &root(3));
    assert_eq!(finish(&mut media).ticket, 1);
    assert_eq!(finish(&mut media).ticket, 2);
    let third = finish(&mut media);
    assert_eq!(third.result.unwrap_err(), MediaError::RootConflict { expected: 2, found: 3 });
    assert_eq!(loaded(&mut media), (vec![9; MAX_ROOT_BYTES], 3));
    assert_eq!(media.outstanding(), 0);
}

#[test]
fn requests_come_back_under_the_tickets_of_the_caller() {
    for seed in 0..20 {
        let (_, mut media) = pool(SimOptions::new(seed, BLOCKS));
        let mut expected = BTreeSet::new();
        for number in 0..40u64 {
            let ticket = u64::MAX - number; // any number is a ticket
            expected.insert(ticket);
            match number % 6 {
                0 => media.write(&FENCE, ticket, BlockAddress::new(2048 + number), Buffer::zeroed(2)),
                1 => media.read(ticket, BlockAddress::new(3000 + number), Buffer::zeroed(1)),
                2 => media.append(&FENCE, ticket, 4096 * (number % 16), Buffer::zeroed(1)),
                3 => media.flush(&FENCE, ticket),
                4 => media.discard(&FENCE, ticket, BlockAddress::new(2500), 10),
                _ => media.read_log(ticket, 8192, Buffer::zeroed(3)),
            }
            if number == 20 {
                media.swap_root(&FENCE, 3, 1, b"other");
                expected.insert(3);
            }
        }
        media.submit();
        while !expected.is_empty() {
            let completion = finish(&mut media);
            assert!(expected.remove(&completion.ticket));
            assert!(completion.result.is_ok());
        }
        media.wait();
        assert!(media.poll().is_none());
        let statistics = media.statistics();
        assert_eq!((statistics.reads, statistics.writes, statistics.appends, statistics.flushes), (13, 7, 7, 7));
        assert_eq!((statistics.read_bytes, statistics.written_bytes), ((7 + 6 * 3) * 4096, 14 * 4096));
        assert_eq!((statistics.discards, statistics.root_swaps, statistics.errors), (6, 1, 0));
    }
}

#[test]
fn an_append_is_durable_on_completion_and_a_segment_write_after_a_flush() {
    let (disk, mut media) = pool(quiet());
    let mut frame = Buffer::zeroed(1);
    frame.fill(1);
    media.append(&FENCE, 1, 65536 - 4096, frame.clone());
    finish(&mut media).result.unwrap();
    media.write(&FENCE, 2, BlockAddress::new(2048), frame.clone());
    finish(&mut media).result.unwrap();
    let after = disk.crashed_copy(|_| Fate::Lost);
    assert_eq!((after.peek(271).0[0], after.peek(2048).0[0]), (1, 0));
    media.flush(&FENCE, 3);
    finish(&mut media).result.unwrap();
    assert_eq!(disk.crashed_copy(|_| Fate::Lost).peek(2048).0[0], 1);
}

#[test]
fn nothing_outside_log_and_data_area_is_reached() {
    let (_, mut media) = pool(quiet());
    let one = || Buffer::zeroed(1);
    media.write(&FENCE, 1, BlockAddress::new(2047), one());
    media.write(&FENCE, 2, BlockAddress::new(4094), Buffer::zeroed(2));
    media.read(3, BlockAddress::new(0), one());
    media.read(4, BlockAddress::new(u64::MAX), one());
    media.read(5, BlockAddress::new(2048), Buffer::zeroed(0));
    media.discard(&FENCE, 6, BlockAddress::new(2048), u64::MAX);
    media.append(&FENCE, 7, 64 << 10, one());
    media.append(&FENCE, 8, 60 << 10, Buffer::zeroed(2));
    media.append(&FENCE, 9, 100, one());
    media.read_log(10, u64::MAX - 4095, one());
    media.submit();
    for ticket in 1..=10 {
        let completion = media.poll().unwrap();
        assert_eq!(completion.ticket, ticket);
        assert!(matches!(completion.result, Err(MediaError::Io { .. })));
    }
    assert_eq!(media.statistics().errors, 10);
}

#[test]
fn an_older_epoch_is_fenced() {
    let (_, mut media) = pool(quiet());
    media.seal(&FENCE, 1);
    assert!(matches!(finish(&mut media).result, Ok(Done::Written(None))));
    let old = Fence { epoch: 4 };
    media.write(&old, 1, BlockAddress::new(2048), Buffer::zeroed(1));
    media.append(&old, 1, 0, Buffer::zeroed(1));
    media.flush(&old, 1);
    media.discard(&old, 1, BlockAddress::new(2048), 1);
    media.swap_root(&old, 1, 1, b"");
    media.seal(&old, 1);
    for _ in 0..6 {
        assert_eq!(finish(&mut media).result.unwrap_err(), MediaError::Fenced);
    }
    assert!(swap(&mut media, 1).is_ok());
}

/// Every combination of intact and damaged copies, with every kind of damage. Two intact copies are
/// necessary and sufficient, the damaged ones are reported, and the next swap repairs them.
#[test]
fn two_intact_copies_are_needed_and_enough() {
    let (disk, mut media) = pool(quiet());
    swap(&mut media, 1).unwrap();
    for mask in 0u32..16 {
        for kind in 0..4 {
            let hurt = rest(&disk);
            for (index, block) in COPY_BLOCKS.into_iter().enumerate() {
                if mask & (1 << index) != 0 {
                    match kind {
                        0 => hurt.rot(block, 1),
                        1 => hurt.damage(block, |content| content.fill(0)),
                        2 => hurt.damage(block, |content| content[..2048].fill(0xee)),
                        _ => hurt
                            .plant(Fault::sticky(FaultOperation::Read, FaultEffect::Error).on_blocks(block..block + 1)),
                    }
                }
            }
            if mask.count_ones() > 2 {
                let reason = refusal(hurt);
                match (mask, kind) {
                    // No copy leads to copy 2 when the others are damaged.
                    (15 | 11, 1) => assert!(reason.contains("blank"), "{reason}"),
                    (15 | 11, 2) => assert!(reason.contains("not a pool"), "{reason}"),
                    _ => assert!(reason.contains("two intact superblock copies"), "{reason}"),
                }
                continue;
            }
            let mut media = LocalMedia::open(hurt.clone()).unwrap();
            assert_eq!(loaded(&mut media), (root(2), 2));
            let damaged: u32 = media.damaged_copies().iter().map(|copy| 1 << copy.index).sum();
            assert_eq!(damaged, mask);
            swap(&mut media, 2).unwrap();
            assert!(media.damaged_copies().is_empty());
            hurt.clear_faults();
            let mut media = LocalMedia::open(hurt).unwrap();
            assert!(media.damaged_copies().is_empty());
            assert_eq!(loaded(&mut media), (root(3), 3));
        }
    }
}

/// All outcomes of a crash at each step of a swap: the old root or the new one, and the new one
/// once the swap has completed.
#[test]
fn every_crash_inside_a_swap_leaves_the_old_or_the_new_root() {
    let fates = [Fate::Applied, Fate::Lost, Fate::TornBlocks, Fate::TornSectors, Fate::Prefix];
    let mut seen = BTreeSet::new();
    for steps in 0..=6 {
        let (disk, mut media) = pool(stepped());
        for version in 1..4 {
            swap(&mut media, version).unwrap();
        }
        media.swap_root(&FENCE, 1, 4, &root(5));
        let mut completed = false;
        for _ in 0..steps {
            // One disk completion at a time.
            media.disk_mut().wait();
            completed |= media.poll().is_some();
        }
        assert_eq!(completed, steps == 6);
        let pending = disk.pending_writes().len();
        for choice in 0..fates.len().pow(u32::try_from(pending).unwrap()) {
            for _ in 0..8 {
                let mut rest = choice;
                let after = disk.crashed_copy(|_| {
                    let fate = fates[rest % fates.len()];
                    rest /= fates.len();
                    fate
                });
                let mut media = LocalMedia::open(after).unwrap();
                let (found, version) = loaded(&mut media);
                assert_eq!(found, root(version));
                assert!(version == 5 || (version == 4 && !completed), "version {version} after {steps} steps");
                seen.insert((completed, version));
            }
        }
    }
    assert_eq!(seen.len(), 3);
}

/// Repeated crashes, each at a random point of a swap; occasionally a copy is damaged while all
/// four are intact.
#[test]
fn no_chain_of_crashes_loses_the_root() {
    let mut outcomes = [0u32; 2];
    for seed in 0..1500 {
        let (mut disk, mut media) = pool(SimOptions { delay: 200, ..SimOptions::new(seed, BLOCKS) });
        let mut version = 1;
        for round in 0..8 {
            if (seed + round) % 4 == 0 {
                swap(&mut media, version).unwrap();
                version += 1;
                if seed % 2 == 0 {
                    disk.rot(COPY_BLOCKS[usize::try_from((seed / 8 + round) % 4).unwrap()], 3);
                    media = LocalMedia::open(disk.clone()).unwrap();
                    assert_eq!(media.damaged_copies().len(), 1);
                }
            }
            media.swap_root(&FENCE, 1, version, &[root(version + 1), vec![b' '; 2000]].concat());
            let steps = (seed * 31 + round * 17) % 24;
            let completed = (0..steps).any(|_| media.poll().is_some());
            disk = disk.crash();
            media = LocalMedia::open(disk.clone()).unwrap();
            let (found, found_version) = loaded(&mut media);
            assert!(found.starts_with(&root(found_version)));
            assert!(
                found_version == version + 1 || (found_version == version && !completed),
                "seed {seed} round {round}: version {found_version}, was {version}\n{}",
                disk.story()
            );
            outcomes[usize::try_from(found_version - version).unwrap()] += 1;
            version = found_version;
        }
    }
    assert!(outcomes.iter().all(|&count| count > 1000), "{outcomes:?}");
}

#[test]
fn a_failed_swap_leaves_the_old_or_the_new_root_and_stops_further_ones() {
    for (operation, requests) in [(FaultOperation::Write, 4), (FaultOperation::Flush, 2)] {
        for skip in 0..requests {
            for effect in [FaultEffect::Error, FaultEffect::ErrorAfterEffect] {
                let (disk, mut media) = pool(SimOptions::new(skip, BLOCKS));
                disk.plant(Fault::once(operation, effect).after(skip));
                let error = swap(&mut media, 1).unwrap_err();
                assert_eq!(swap(&mut media, 1).unwrap_err(), error);
                media.load_root(1);
                assert_eq!(finish(&mut media).result.unwrap_err(), error);
                let mut media = LocalMedia::open(disk.crash()).unwrap();
                let (found, version) = loaded(&mut media);
                assert!(found == root(version) && version <= 2);
                swap(&mut media, version).unwrap();
            }
        }
    }
}

/// A swap whose flush failed leaves copies that the disk returns until the next power failure, and
/// no later flush makes them durable. A root that was in force once must stay in force.
#[test]
fn a_root_in_force_at_opening_survives_a_power_failure() {
    let mut seen = BTreeSet::new();
    for skip in 0..2 {
        let (disk, mut media) = pool(quiet());
        disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Error).after(skip));
        swap(&mut media, 1).unwrap_err();
        // The process ends, and the disk keeps its power.
        let mut media = LocalMedia::open(disk.clone()).unwrap();
        let (_, version) = loaded(&mut media);
        for fate in [Fate::Applied, Fate::Lost, Fate::TornSectors] {
            let mut media = LocalMedia::open(disk.crashed_copy(|_| fate)).unwrap();
            assert_eq!(loaded(&mut media), (root(version), version), "flush {skip}, {fate:?}");
        }
        // A second opening reads the same copies, and fails at each of its flushes in turn.
        for flush in 0..3 {
            let (disk, mut media) = pool(quiet());
            disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Error).after(skip));
            swap(&mut media, 1).unwrap_err();
            disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Error).after(flush));
            let first = LocalMedia::open(disk.clone()).is_ok();
            disk.clear_faults();
            let mut media = LocalMedia::open(disk.clone()).unwrap();
            let (_, version) = loaded(&mut media);
            let mut media = LocalMedia::open(disk.crashed_copy(|_| Fate::Lost)).unwrap();
            assert_eq!(loaded(&mut media), (root(version), version), "flush {skip}, then {flush}");
            seen.insert((skip, version, first));
        }
    }
    // Two copies in doubt take two more flushes than four copies of one root.
    assert_eq!(seen, BTreeSet::from([(0, 2, false), (1, 2, false), (1, 2, true)]));
}

/// Like [`a_root_in_force_at_opening_survives_a_power_failure`], but one of the two older copies
/// cannot be read, or is damaged, when the pool is opened again.
#[test]
fn a_root_in_force_beside_one_older_copy_survives_a_power_failure() {
    for (place, rot) in [(1, false), (4095, false), (1, true), (4095, true)] {
        let (disk, mut media) = pool(quiet());
        disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Error));
        swap(&mut media, 1).unwrap_err();
        match rot {
            true => disk.rot(place, 3),
            false => {
                disk.plant(Fault::once(FaultOperation::Read, FaultEffect::Error).on_blocks(place..place + 1));
            }
        }
        let mut media = LocalMedia::open(disk.clone()).unwrap();
        assert_eq!(loaded(&mut media).1, 2);
        assert_eq!(media.damaged_copies().len(), 1);
        let mut media = LocalMedia::open(disk.crashed_copy(|_| Fate::Lost)).unwrap();
        assert_eq!(loaded(&mut media), (root(2), 2), "copy at {place}, rot {rot}");
    }
}

/// Copies of the root in force, of the one before it, damaged ones and strays, in every
/// arrangement: opening stops at each of its requests, and the power failure tears the copy that
/// is being written. Each copy in doubt is new or old afterwards.
#[test]
fn a_power_failure_while_the_root_is_confirmed_never_loses_the_pool() {
    let mut steps = 0;
    for worthless in [Some(1), Some(4095), None] {
        for stray in [false, true] {
            for step in 0.. {
                let (disk, mut media) = pool(stepped());
                disk.plant(Fault::once(FaultOperation::Flush, FaultEffect::Error));
                swap(&mut media, 1).unwrap_err();
                match worthless {
                    Some(place) if stray => {
                        let index = COPY_BLOCKS.iter().position(|block| *block == place).unwrap();
                        let contents = Contents { version: 3, root: root(3), ..media.contents.clone() };
                        disk.damage(place, |bytes| bytes.copy_from_slice(&contents.encode(index).0));
                    }
                    Some(place) => disk.rot(place, 3),
                    None => {}
                }
                // Two reads lead to two more; then the writes and flushes, one of which fails.
                disk.plant(Fault::sticky(FaultOperation::Flush, FaultEffect::Error).after(step));
                let completed = LocalMedia::open(disk.clone()).is_ok();
                disk.clear_faults();
                for doubt in 0..16 {
                    let mut index = 0;
                    let writes = disk.pending_writes();
                    let torn = writes.last().map(|write| write.id);
                    let after = disk.crashed_copy(|write| {
                        index += 1;
                        match () {
                            () if Some(write.id) == torn && step > 0 => Fate::TornSectors,
                            () if doubt & (1 << index) != 0 => Fate::Applied,
                            () => Fate::Lost,
                        }
                    });
                    LocalMedia::open(after).unwrap();
                    steps += 1;
                }
                if completed {
                    break;
                }
            }
        }
    }
    assert!(steps > 16 * 12, "{steps}");
}

/// A crash left copy 0 with version 2 of a swap that never completed; later another version 2 is
/// swapped in. Versions cannot distinguish the two, so copies are compared by content.
#[test]
fn a_stray_copy_of_a_lost_swap_does_not_vote() {
    let (disk, mut media) = pool(stepped());
    media.swap_root(&FENCE, 1, 1, b"lost");
    media.disk_mut().wait();
    assert!(media.poll().is_none());
    let first = disk.pending_writes()[0].id;
    let disk = disk.crashed_copy(|write| if write.id == first { Fate::Applied } else { Fate::Lost });
    let mut media = LocalMedia::open(disk.clone()).unwrap();
    assert_eq!(loaded(&mut media), (root(1), 1));
    assert!(media.damaged_copies().is_empty());
    media.swap_root(&FENCE, 1, 1, &root(2));
    media.disk_mut().wait();
    assert!(media.poll().is_none());
    for (a, b) in [(Fate::Lost, Fate::Applied), (Fate::Applied, Fate::Lost)] {
        let first = disk.pending_writes()[0].id;
        let after = disk.crashed_copy(|write| if write.id == first { a } else { b });
        assert_eq!(loaded(&mut LocalMedia::open(after).unwrap()), (root(1), 1));
    }
    finish(&mut media).result.unwrap();
    assert_eq!(loaded(&mut LocalMedia::open(disk.crash()).unwrap()), (root(2), 2));
}

#[test]
fn the_copies_at_the_end_are_found_when_those_at_the_start_are_gone() {
    let (disk, mut media) = pool(quiet());
    swap(&mut media, 1).unwrap();
    let hurt = rest(&disk);
    (0..5).for_each(|block| hurt.damage(block, |content| content.fill(0x55)));
    let mut media = LocalMedia::open(hurt).unwrap();
    assert_eq!(loaded(&mut media), (root(2), 2));
}

#[test]
fn what_is_not_a_pool_is_refused_with_a_sentence() {
    let disk = SimDisk::new(quiet());
    assert!(LocalMedia::is_blank(&mut disk.clone()).unwrap());
    assert!(refusal(disk.clone()).contains("blank"));
    assert!(refusal(SimDisk::new(SimOptions::new(1, 0))).contains("the file is empty"));
    disk.damage(0, |content| content[1024] = 1);
    assert!(refusal(disk.clone()).contains("not a pool"));
    assert!(!LocalMedia::is_blank(&mut disk.clone()).unwrap());
    let error = LocalMedia::format(disk.clone(), options()).unwrap_err();
    assert!(error.to_string().contains("not blank"), "{error}");
    LocalMedia::format(disk.clone(), FormatOptions { overwrite: true, ..options() }).unwrap();
    assert!(!LocalMedia::is_blank(&mut disk.clone()).unwrap());
    assert!(LocalMedia::format(disk, options()).unwrap_err().to_string().contains("not blank"));
}

#[test]
fn sizes_that_do_not_work_are_refused_before_anything_is_written() {
    let format = |blocks, options| {
        let disk = SimDisk::new(SimOptions::new(1, blocks));
        let error = LocalMedia::format(disk.clone(), options).unwrap_err();
        assert_eq!(disk.counters().writes, 0);
        error.to_string()
    };
    assert!(format(2049, options()).contains("too small"));
    assert!(format(BLOCKS, FormatOptions { log_bytes: 60 << 10, ..options() }).contains("not a valid log size"));
    assert!(format(BLOCKS, FormatOptions { log_bytes: 64 << 20, ..options() }).contains("does not fit"));
    assert!(format((1 << 40) + 1, options()).contains("too large"));
    assert!(format(BLOCKS, FormatOptions { root: vec![0; MAX_ROOT_BYTES + 1], ..options() }).contains("root"));
    LocalMedia::format(SimDisk::new(SimOptions::new(1, 1 << 40)), options()).unwrap();
}

#[test]
fn a_device_cut_off_is_refused_and_a_grown_one_opens() {
    let (disk, _) = pool(quiet());
    let short = rest(&disk);
    short.resize(BLOCKS - 1);
    assert!(refusal(short).contains("4095 blocks of 4096 bytes, but the pool was made with 4096"));
    let grown = rest(&disk);
    grown.resize(2 * BLOCKS);
    let media = LocalMedia::open(grown).unwrap();
    assert_eq!((media.block_count(), media.damaged_copies().len()), (BLOCKS, 0));
}

/// Rewrites all copies, with a valid checksum.
fn forge(disk: &SimDisk, change: impl Fn(&mut [u8])) -> SimDisk {
    let disk = rest(disk);
    for block in COPY_BLOCKS {
        disk.damage(block, |content| {
            change(content);
            let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &content[..4088]);
            content[4088..].copy_from_slice(&crc.to_le_bytes());
        });
    }
    disk
}

#[test]
fn a_newer_format_or_unknown_features_are_refused() {
    let (disk, _) = pool(quiet());
    let newer = forge(&disk, |content| content[8] = 2);
    assert_eq!(
        refusal(newer),
        format!("the pool has format version 2; this release reads version {FORMAT_VERSION}: use a newer release")
    );
    assert!(refusal(forge(&disk, |content| content[16] = 4)).contains("incompatible feature bits 0x4"));
    assert!(refusal(forge(&disk, |content| content[25] = 1)).contains("read-only compatible feature bits 0x100"));
    let compatible = forge(&disk, |content| content[32] = 1);
    let mut media = LocalMedia::open(compatible.clone()).unwrap();
    swap(&mut media, 1).unwrap();
    assert_eq!(compatible.peek(0).0[32], 1, "an unknown compatible bit survives a swap");
}

/// What a release from before a feature says about a pool that uses it.
#[test]
fn a_release_that_does_not_know_a_feature_in_use_refuses_the_pool() {
    let (disk, mut media) = pool(quiet());
    let refused_by = |disk: &SimDisk, known: u64| {
        let copies = read_copies(&mut disk.clone());
        let states = copies.map(|(_, state)| state);
        in_force(&states).unwrap().check_features_as(known, false).err().map(|error| error.to_string())
    };
    swap(&mut media, 1).unwrap();
    assert_eq!(refused_by(&disk, 0), None);
    media.require_features(FEATURE_WIDE);
    swap(&mut media, 2).unwrap();
    assert_eq!(refused_by(&disk, FEATURE_WIDE), None);
    let refusal = refused_by(&disk, FEATURE_INDEX).unwrap();
    assert!(refusal.contains("incompatible feature bits 0x2"), "{refusal}");
}

#[test]
fn a_required_feature_comes_into_force_with_the_next_root_and_stays() {
    let (disk, mut media) = pool(quiet());
    let bits =
        |disk: &SimDisk| COPY_BLOCKS.map(|block| u16::from_le_bytes([disk.peek(block).0[16], disk.peek(block).0[17]]));
    media.require_features(FEATURE_INDEX);
    assert_eq!(bits(&disk), [0; 4]);
    swap(&mut media, 1).unwrap();
    assert_eq!(bits(&disk), [1 << 9; 4]);
    swap(&mut media, 2).unwrap();
    drop(media);
    let disk = rest(&disk);
    let mut media = LocalMedia::open(disk.clone()).unwrap();
    swap(&mut media, 3).unwrap();
    assert_eq!(bits(&disk), [1 << 9; 4], "kept by a run that does not ask for it");
}

/// Invalid values under a valid checksum are refused, or lead to a pool within the disk.
#[test]
fn nonsense_under_a_good_checksum_is_refused() {
    let (disk, _) = pool(quiet());
    for at in 8..96 {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let forged = forge(&disk, |content| content[at] = value);
            if let Ok(media) = LocalMedia::open(forged) {
                assert!(media.data_end().get() < media.block_count() && media.block_count() <= BLOCKS);
            }
        }
    }
}

/// Formatting interrupted at every write and flush, by an error and then a crash: afterwards the
/// device is blank, or holds the whole pool.
#[test]
fn a_format_cut_short_can_be_repeated() {
    let mut outcomes = BTreeSet::new();
    for (operation, requests) in [(FaultOperation::Write, 10), (FaultOperation::Flush, 5)] {
        for skip in 0..requests {
            for seed in 0..20 {
                let disk = SimDisk::new(SimOptions { torn_sectors: false, ..SimOptions::new(seed, BLOCKS) });
                disk.plant(Fault::sticky(operation, FaultEffect::Error).after(skip));
                let finished = LocalMedia::format(disk.clone(), options()).is_ok();
                let mut disk = disk.crash();
                disk.clear_faults();
                let blank = LocalMedia::is_blank(&mut disk).unwrap();
                outcomes.insert((finished, blank));
                match blank {
                    true => drop(LocalMedia::format(disk, options()).unwrap()),
                    false => assert_eq!(loaded(&mut LocalMedia::open(disk).unwrap()), (root(1), 1)),
                }
            }
        }
    }
    assert!(outcomes.contains(&(false, false)) && outcomes.contains(&(false, true)));
    assert!(!outcomes.contains(&(true, true)));
}

/// Formatting over an older pool: a crash during it must not make the old root valid over an
/// emptied log.
#[test]
fn formatting_over_a_pool_ends_the_old_one_first() {
    for skip in 0..12 {
        for seed in 0..20 {
            let (disk, mut media) = pool(SimOptions::new(seed, BLOCKS));
            media.append(&FENCE, 1, 0, Buffer::from_blocks(vec![Block([1; BLOCK_BYTES])]));
            finish(&mut media).result.unwrap();
            disk.plant(Fault::sticky(FaultOperation::Write, FaultEffect::Error).after(skip));
            let again = FormatOptions { uuid: [9; 16], overwrite: true, ..options() };
            let _ = LocalMedia::format(disk.clone(), again);
            let disk = disk.crash();
            disk.clear_faults();
            if let Ok(media) = LocalMedia::open(disk.clone()) {
                let log_kept = disk.peek(256).0[0] == 1;
                assert_eq!(media.uuid() == [9; 16], !log_kept, "seed {seed}, write {skip}");
            }
        }
    }
}

#[test]
fn progress_is_told_until_the_log_is_written() {
    let disk = SimDisk::new(SimOptions::new(1, 1 << 20));
    let mut told = Vec::new();
    let options = FormatOptions { log_bytes: (10 << 20) + 4096, ..options() };
    LocalMedia::format_with_progress(disk, options, |done, total| told.push((done, total))).unwrap();
    let total = (10 << 20) + 4096;
    assert_eq!((told[0], told[told.len() - 1], told.len()), ((0, total), (total, total), 12));
    assert!(told.is_sorted());
}

#[test]
fn the_default_log_size_fits_the_pool() {
    const GIB: u64 = 1 << 30;
    assert_eq!(default_log_bytes(64 * GIB), 512 << 20);
    assert_eq!(default_log_bytes(GIB), 64 << 20);
    assert_eq!(default_log_bytes(100_000 * GIB), 4 * GIB);
    assert_eq!(default_log_bytes(GIB / 64), 1 << 20);
    assert_eq!(default_log_bytes(0), 64 << 10);
}

/// Pool whose last swap was interrupted when only two copies held the new root, version 2.
fn half_swapped() -> (SimDisk, LocalMedia<SimDisk>) {
    for steps in 1.. {
        let (disk, mut media) = pool(stepped());
        media.swap_root(&FENCE, 77, 1, &root(2));
        for _ in 0..steps {
            media.disk_mut().wait();
            assert!(media.poll().is_none());
        }
        let crashed = disk.crashed_copy(|_| Fate::Lost);
        let mut media = LocalMedia::open(crashed.clone()).unwrap();
        if loaded(&mut media).1 == 2 {
            return (crashed, media);
        }
    }
    unreachable!()
}

/// A swap that records a growth, interrupted at each of its steps, with any of its writes lost or
/// torn: afterwards the pool has the old or the new size, with the root of that size. Starts once
/// from four copies of the old root, and once from two, where the copy at the old end holds an even
/// older root while the one at the new end is written.
#[test]
fn a_crash_inside_the_swap_of_a_growth_leaves_the_old_or_the_new_pool() {
    for old in [1, 2] {
        let mut seen = BTreeSet::new();
        for (steps, choice) in (0..8).flat_map(|steps| (0..16u32).map(move |choice| (steps, choice))) {
            let half = old == 2;
            let (disk, mut media) = if half { half_swapped() } else { pool(stepped()) };
            let grown = media.extend(&Growth::Size(6000 * 4096)).unwrap();
            assert_eq!((grown.block_count, grown.data_end), (6000, 5999));
            assert_eq!((media.block_count(), media.data_end().get()), (BLOCKS, BLOCKS - 1));
            media.swap_root(&FENCE, 78, old, &root(old + 1));
            let mut acknowledged = false;
            for _ in 0..steps {
                media.disk_mut().wait();
                acknowledged |= media.poll().is_some();
            }
            let mut writes = 0;
            let crashed = disk.crashed_copy(|_| {
                writes += 1;
                match choice >> (writes - 1) & 1 {
                    1 => Fate::Applied,
                    _ if half => Fate::TornSectors,
                    _ => Fate::Lost,
                }
            });
            let mut media = LocalMedia::open(crashed).unwrap();
            let (root_found, version) = loaded(&mut media);
            assert_eq!(root_found, root(version));
            assert_eq!(media.block_count(), if version == old { BLOCKS } else { 6000 });
            assert!(version == old + 1 || !acknowledged);
            seen.insert((steps, version));
            // The pool can continue from there.
            swap(&mut media, version).unwrap();
            let mut media = LocalMedia::open(media.into_disk()).unwrap();
            assert_eq!(loaded(&mut media).1, version + 1);
            assert!(media.damaged_copies().is_empty());
        }
        assert!(seen.len() > 8, "{seen:?}");
    }
}

/// Simulated disk, and pools on it.
struct Pools(u64);

impl crate::contract::Fixture for Pools {
    type Media = LocalMedia<SimDisk>;

    fn create(&mut self, root: &[u8]) -> Self::Media {
        self.0 += 1;
        let format = FormatOptions { root: root.to_vec(), ..options() };
        LocalMedia::format(SimDisk::new(SimOptions::new(self.0, BLOCKS)), format).unwrap()
    }

    fn reopen(&mut self, media: Self::Media) -> Self::Media {
        LocalMedia::open(media.disk().crash()).unwrap()
    }
}

#[test]
fn a_simulated_disk_keeps_the_contract() {
    for seed in 0..20 {
        crate::contract::holds(Pools(seed << 32));
    }
}

/// No room for one of the copies, in each place: the swap fails and continues with the same root. A
/// crash in between leaves the old or the new one.
#[test]
fn a_swap_without_room_is_repeated() {
    for place in COPY_BLOCKS {
        let (disk, mut media) = pool(quiet());
        disk.plant(Fault::sticky(FaultOperation::Write, FaultEffect::NoSpace).on_blocks(place..place + 1));
        for _ in 0..2 {
            assert!(matches!(swap(&mut media, 1), Err(MediaError::NoSpace { .. })), "copy at {place}");
            assert_eq!(loaded(&mut media), (root(1), 1));
            for fate in [Fate::Applied, Fate::Lost] {
                let after = disk.crashed_copy(|_| fate);
                after.clear_faults();
                let mut media = LocalMedia::open(after).unwrap();
                let (found, version) = loaded(&mut media);
                assert!(found == root(version) && version <= 2, "copy at {place}, {version}");
            }
        }
        media.swap_root(&FENCE, 79, 1, b"another");
        assert!(matches!(finish(&mut media).result, Err(MediaError::BadRoot(_))));
        disk.clear_faults();
        swap(&mut media, 1).unwrap();
        assert_eq!(loaded(&mut media), (root(2), 2));
        swap(&mut media, 2).unwrap();
        let mut media = LocalMedia::open(disk.crashed_copy(|_| Fate::Lost)).unwrap();
        assert_eq!(loaded(&mut media), (root(3), 3));
    }
}
