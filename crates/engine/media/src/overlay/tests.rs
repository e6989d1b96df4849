#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::{Fault, FaultEffect, FaultOperation, FormatOptions, LocalMedia, SimCounters, SimDisk, SimOptions};

const BLOCKS: u64 = 4096 * 2;
const FENCE: Fence = Fence { epoch: 5 };

type Pool = Overlay<LocalMedia<SimDisk>>;

/// Overlay over a pool whose data area starts with blocks of 1, 2, 3 … 8, the underlying disk, and
/// that disk's counters so far.
fn overlay(sim: SimOptions) -> (SimDisk, Pool, SimCounters) {
    let disk = SimDisk::new(sim);
    let options = FormatOptions { uuid: [7; 16], log_bytes: 1 << 20, root: b"inner".to_vec(), overwrite: false };
    let mut inner = LocalMedia::format(disk.clone(), options).unwrap();
    let start = inner.data_start();
    inner.write(&FENCE, 0, start, of(&[1, 2, 3, 4, 5, 6, 7, 8]));
    inner.wait();
    inner.poll().unwrap().result.unwrap();
    inner.append(&FENCE, 0, 0, of(&[101, 102, 103, 104]));
    inner.wait();
    inner.poll().unwrap().result.unwrap();
    let counters = disk.counters();
    (disk, Overlay::new(inner), counters)
}

fn of(bytes: &[u8]) -> Buffer {
    Buffer::from_blocks(bytes.iter().map(|&byte| Block([byte; BLOCK_BYTES])).collect())
}

fn bytes(buffer: &Buffer) -> Vec<u8> {
    for block in buffer.as_blocks() {
        assert!(block.0.iter().all(|byte| *byte == block.0[0]));
    }
    buffer.as_blocks().iter().map(|block| block.0[0]).collect()
}

fn finish(media: &mut Pool, ticket: Ticket) -> Result<Done, MediaError> {
    media.wait();
    let completion = media.poll().unwrap();
    assert_eq!(completion.ticket, ticket);
    assert!(media.poll().is_none());
    completion.result
}

fn read(media: &mut Pool, at: u64, blocks: usize) -> Result<Vec<u8>, MediaError> {
    let address = media.data_start() + at;
    media.read(9, address, Buffer::zeroed(blocks));
    finish(media, 9).map(|done| match done {
        Done::Read(buffer) => bytes(&buffer),
        other => panic!("{other:?}"),
    })
}

fn read_log(media: &mut Pool, at: u64, blocks: usize) -> Vec<u8> {
    media.read_log(9, at * BLOCK_BYTES as u64, Buffer::zeroed(blocks));
    match finish(media, 9) {
        Ok(Done::Read(buffer)) => bytes(&buffer),
        other => panic!("{other:?}"),
    }
}

fn write(media: &mut Pool, at: u64, content: &[u8]) {
    let address = media.data_start() + at;
    media.write(&FENCE, 8, address, of(content));
    assert!(matches!(finish(media, 8), Ok(Done::Written(Some(buffer))) if bytes(&buffer) == content));
}

fn load(media: &mut Pool) -> (Vec<u8>, u64) {
    media.load_root(7);
    match finish(media, 7) {
        Ok(Done::Root(root, version)) => (root, version),
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_see_changes_block_by_block_over_the_inner_medium() {
    for sim in [SimOptions::immediate(1, BLOCKS), SimOptions::new(2, BLOCKS)] {
        let (_, mut media, _) = overlay(sim);
        assert_eq!(read(&mut media, 0, 8), Ok(vec![1, 2, 3, 4, 5, 6, 7, 8]));
        write(&mut media, 2, &[30]);
        write(&mut media, 4, &[50, 60]);
        assert_eq!(read(&mut media, 0, 8), Ok(vec![1, 2, 30, 4, 50, 60, 7, 8]));
        assert_eq!(read(&mut media, 4, 2), Ok(vec![50, 60]));
        assert_eq!(read(&mut media, 6, 2), Ok(vec![7, 8]));
        write(&mut media, 5, &[61]);
        assert_eq!(read(&mut media, 5, 2), Ok(vec![61, 7]));
        assert_eq!(media.held_bytes(), 3 * 4096);
    }
}

#[test]
fn the_log_is_overlaid_like_the_segments_and_apart_from_them() {
    let (_, mut media, _) = overlay(SimOptions::new(3, BLOCKS));
    assert_eq!(read_log(&mut media, 0, 5), [101, 102, 103, 104, 0]);
    media.append(&FENCE, 1, 4096, of(&[112, 113]));
    assert!(matches!(finish(&mut media, 1), Ok(Done::Written(Some(_)))));
    assert_eq!(read_log(&mut media, 0, 5), [101, 112, 113, 104, 0]);
    assert_eq!(read(&mut media, 0, 3), Ok(vec![1, 2, 3]));
}

#[test]
fn no_change_of_any_kind_reaches_the_inner_medium() {
    let (disk, mut media, before) = overlay(SimOptions::new(4, BLOCKS));
    let start = media.data_start();
    write(&mut media, 0, &[9; 64]);
    media.append(&FENCE, 1, 0, of(&[9; 16]));
    media.flush(&FENCE, 2);
    media.discard(&FENCE, 3, start, 32);
    media.seal(&FENCE, 4);
    media.swap_root(&FENCE, 5, 1, b"newer");
    media.wait();
    let mut tickets = Vec::new();
    while tickets.len() < 5 {
        media.wait();
        let completion = media.poll().unwrap();
        completion.result.unwrap();
        tickets.push(completion.ticket);
    }
    tickets.sort_unstable();
    assert_eq!(tickets, [1, 2, 3, 4, 5]);
    assert_eq!(load(&mut media), (b"newer".to_vec(), 2));
    let after = disk.counters();
    assert_eq!((after.writes, after.flushes, after.discards), (before.writes, before.flushes, before.discards));
    assert_eq!(LocalMedia::open(disk).unwrap().data_start(), start);
    let mut inner = media.into_inner();
    inner.load_root(0);
    assert!(matches!(inner.poll().unwrap().result, Ok(Done::Root(root, 1)) if root == b"inner"));
}

#[test]
fn a_root_is_swapped_only_at_the_version_expected() {
    let (_, mut media, _) = overlay(SimOptions::new(5, BLOCKS));
    media.swap_root(&FENCE, 1, 4, b"no");
    assert_eq!(finish(&mut media, 1).unwrap_err(), MediaError::RootConflict { expected: 4, found: 1 });
    media.swap_root(&FENCE, 2, 1, b"two");
    finish(&mut media, 2).unwrap();
    media.swap_root(&FENCE, 3, 1, b"again");
    assert_eq!(finish(&mut media, 3).unwrap_err(), MediaError::RootConflict { expected: 1, found: 2 });
    media.swap_root(&FENCE, 4, 2, &[0; MAX_ROOT_BYTES + 1]);
    assert!(matches!(finish(&mut media, 4), Err(MediaError::BadRoot(_))));
    assert_eq!(load(&mut media), (b"two".to_vec(), 2));
}

#[test]
fn swaps_submitted_before_the_root_is_known_keep_their_order() {
    let (_, mut media, _) = overlay(SimOptions::new(6, BLOCKS));
    media.swap_root(&FENCE, 1, 1, b"two");
    media.swap_root(&FENCE, 2, 2, b"three");
    for ticket in [1, 2] {
        media.wait();
        let completion = media.poll().unwrap();
        assert_eq!(completion.ticket, ticket);
        completion.result.unwrap();
    }
    assert_eq!(load(&mut media), (b"three".to_vec(), 3));
}

#[test]
fn a_discard_forgets_what_was_written() {
    let (_, mut media, _) = overlay(SimOptions::new(7, BLOCKS));
    write(&mut media, 0, &[91, 92, 93, 94]);
    let start = media.data_start();
    media.discard(&FENCE, 1, start + 1, 2);
    finish(&mut media, 1).unwrap();
    assert_eq!(media.held_bytes(), 2 * 4096);
    let rest = media.data_end() - start;
    media.discard(&FENCE, 2, start, rest);
    finish(&mut media, 2).unwrap();
    assert_eq!(media.held_bytes(), 0);
}

#[test]
fn a_defect_shows_only_where_nothing_was_written() {
    let (disk, mut media, _) = overlay(SimOptions::new(8, BLOCKS));
    let start = media.data_start().get();
    write(&mut media, 1, &[20]);
    disk.plant(Fault::sticky(FaultOperation::Read, FaultEffect::Error).on_blocks(start + 1..start + 2));
    assert_eq!(read(&mut media, 0, 3), Ok(vec![1, 20, 3]));
    disk.clear_faults();
    disk.plant(Fault::sticky(FaultOperation::Read, FaultEffect::Error).on_blocks(start + 2..start + 3));
    assert!(matches!(read(&mut media, 0, 4), Err(MediaError::Io { operation: "read", .. })));
    assert_eq!(read(&mut media, 0, 2), Ok(vec![1, 20]));
}

#[test]
fn requests_outside_their_area_or_with_an_old_fence_are_refused() {
    let (_, mut media, _) = overlay(SimOptions::new(9, BLOCKS));
    let (start, end) = (media.data_start().get(), media.data_end().get());
    for address in [0, start - 1, end - 1, end, u64::MAX] {
        media.write(&FENCE, 1, BlockAddress::new(address), of(&[1, 2]));
        assert!(matches!(finish(&mut media, 1), Err(MediaError::Io { operation: "write", .. })), "{address}");
        media.read(1, BlockAddress::new(address), Buffer::zeroed(2));
        assert!(matches!(finish(&mut media, 1), Err(MediaError::Io { operation: "read", .. })), "{address}");
        media.discard(&FENCE, 1, BlockAddress::new(address), 2);
        assert!(matches!(finish(&mut media, 1), Err(MediaError::Io { operation: "discard", .. })), "{address}");
    }
    for offset in [512, (1 << 20) - 4096, 1 << 20, u64::MAX - 4095] {
        media.append(&FENCE, 1, offset, of(&[1, 2]));
        assert!(matches!(finish(&mut media, 1), Err(MediaError::Io { operation: "append", .. })), "{offset}");
        media.read_log(1, offset, Buffer::zeroed(2));
        assert!(matches!(finish(&mut media, 1), Err(MediaError::Io { operation: "read", .. })), "{offset}");
    }
    media.read(1, BlockAddress::new(start), Buffer::default());
    assert!(finish(&mut media, 1).is_err());
    media.seal(&Fence { epoch: 6 }, 1);
    finish(&mut media, 1).unwrap();
    media.write(&FENCE, 1, BlockAddress::new(start), of(&[1]));
    assert_eq!(finish(&mut media, 1).unwrap_err(), MediaError::Fenced);
    assert_eq!(media.held_bytes(), 0);
}

#[test]
fn wait_returns_when_nothing_is_outstanding() {
    let (_, mut media, _) = overlay(SimOptions::new(10, BLOCKS));
    media.wait();
    assert!(media.poll().is_none());
}
