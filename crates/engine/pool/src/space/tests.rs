use super::*;
use crate::space::layout::Layout;
use media::BlockAddress;

fn map() -> SpaceMap {
    SpaceMap::new(Layout { start: BlockAddress::new(2048), end: BlockAddress::new(2048 * 5) })
}

fn freeze(map: &mut SpaceMap) {
    map.freeze();
    while map.next_write(|| media::Buffer::zeroed(1)).is_some() {}
}

fn release(map: &mut SpaceMap) {
    map.begin_release(false);
    map.release_some(usize::MAX);
}

#[test]
fn a_freed_block_waits_for_its_checkpoint() {
    let mut map = map();
    assert!(map.prepare(10, &mut Vec::new()));
    let total = map.available();
    let a = map.allocate(Stream::Small).unwrap_or_default();
    assert_eq!(map.increment(a), Some(1));
    assert_eq!(map.decrement(a), Some(0));
    assert_eq!((map.available(), map.pinned()), (total - 1, 1));
    freeze(&mut map);
    let b = map.allocate(Stream::Small).unwrap_or_default();
    assert_ne!(a, b);
    map.increment(b);
    map.decrement(b); // allocated and freed during the checkpoint: waits for the next one
    release(&mut map);
    assert_eq!((map.available(), map.pinned()), (total - 1, 1));
    freeze(&mut map);
    release(&mut map);
    assert_eq!((map.available(), map.pinned()), (total, 0));
}

#[test]
fn runs_are_contiguous() {
    let mut map = map();
    assert!(map.prepare(100, &mut Vec::new()));
    let (a, n) = map.allocate_run(Stream::Large, 100).map_or((BlockAddress::NONE, 0), |run| (run.address, run.blocks));
    assert_eq!(n, 100);
    let b = map.allocate_run(Stream::Large, 1).map_or(BlockAddress::NONE, |run| run.address);
    assert_eq!(b, a + 100);
}

#[test]
fn forbidden_blocks_are_not_allocated() {
    let mut map = map();
    for i in 0..2048 {
        map.forbid(BlockAddress::new(2048 * 2 + i));
    }
    assert!(map.prepare(100, &mut Vec::new()));
    for _ in 0..2048 {
        let a = map.allocate(Stream::Small).unwrap_or_default();
        assert!(a >= BlockAddress::new(2048 * 3));
    }
}

/// Replay frees a block, and a later record names it again: a checkpoint released it in between,
/// and the disk has lost that checkpoint.
#[test]
fn a_block_that_replay_frees_and_uses_again_is_not_released() {
    for checkpoint_between in [false, true] {
        let mut map = map();
        assert!(map.prepare(1, &mut Vec::new()));
        let address = map.allocate(Stream::Small).unwrap_or_default();
        assert_eq!(map.increment(address), Some(1));
        map.forbid(address);
        assert_eq!(map.decrement(address), Some(0));
        if checkpoint_between {
            freeze(&mut map);
        }
        assert_eq!(map.increment(address), Some(1));
        map.put_into_use(address);
        assert_eq!(map.pinned(), 0);
        if !checkpoint_between {
            freeze(&mut map);
        }
        release(&mut map);
        assert!(!map.is_allocatable(address));
        assert_eq!((map.count(address), map.pinned()), (Some(1), 0));
    }
}

/// Otherwise the checkpoint would name counts of a later state than its map.
#[test]
fn counts_that_change_before_they_are_written_are_written_as_they_were() {
    let mut map = map();
    assert!(map.prepare(3, &mut Vec::new()));
    let [kept, freed, later] = [(); 3].map(|()| map.allocate(Stream::Small).unwrap_or_default());
    map.increment(kept);
    map.increment(freed);
    map.decrement(freed);
    map.freeze();
    let available = map.available();
    assert_eq!(map.counts_to_write(), 1);
    map.increment(kept);
    map.increment(later);
    map.decrement(later);
    let mut writes = Vec::new();
    while let Some(write) = map.next_write(|| media::Buffer::zeroed(1)) {
        writes.push(write);
    }
    assert_eq!(writes.len(), 3, "counts, index, index of the index");
    let (segment, at) = map.layout().locate(kept).unwrap_or_default();
    let entry = map.entry(segment);
    assert_eq!((writes[0].0, entry.crc()), (map.layout().counts_block(segment, 0), Crc32c::of(&writes[0].1)));
    let written: Vec<u16> = writes[0].1.as_chunks::<2>().0.iter().map(|raw| u16::from_le_bytes(*raw)).collect();
    assert_eq!((written[at], written.iter().sum::<u16>(), entry.free()), (1, 1, 2047));
    release(&mut map);
    assert_eq!((map.available(), map.pinned()), (available + 1, 1), "only the block freed before");
    freeze(&mut map);
    release(&mut map);
    assert_eq!((map.available(), map.pinned()), (available + 2, 0));
}
