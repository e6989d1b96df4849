//! Captures: ranges of a volume kept as they were at one instant.
use crate::common::{BLOCK, Rig};
use block::BlockError;
use pool::{BlockNumber, BlockRange, CatalogChange, Failure, ObjectId, ObjectKind, Operation};
use random::Random;

fn range(first: u64, count: u64) -> BlockRange {
    BlockRange::new(BlockNumber::new(first), count)
}

fn capture(rig: &mut Rig, source: ObjectId, ranges: &[BlockRange]) -> Result<ObjectId, Failure> {
    let id = rig.core.new_object_id();
    let size_bytes = rig.core.object(source).unwrap().size_bytes;
    rig.change(CatalogChange::CreateCapture { id, size_bytes })?;
    rig.run(Operation::Capture { source, capture: id, ranges: ranges.to_vec() })?;
    Ok(id)
}

#[test]
fn a_capture_holds_its_ranges_whatever_happens_to_the_source() {
    const BLOCKS: u64 = 4000;
    let mut rig = Rig::new(20_000);
    let n = Random::new(5);
    let source = rig.create(BLOCKS);
    for round in 0..40u8 {
        let (start, length) = (n.below(BLOCKS - 300), 1 + n.below(300));
        rig.write(source, start, length, round + 1).unwrap();
    }
    let ranges =
        [(0, 1), (200, 700), (700, 400), (2047, 2), (3999, 1), (5, 0)].map(|(first, count)| range(first, count));
    let before = rig.read(source, 0, BLOCKS).unwrap();
    let free = rig.core.space().free_bytes;
    let captured = capture(&mut rig, source, &ranges).unwrap();
    assert_eq!(rig.core.object(captured).unwrap().kind, ObjectKind::Capture);
    // Only pages are allocated: no data was moved.
    assert!(free - rig.core.space().free_bytes < 40 * BLOCK);
    rig.write(source, 0, 1000, 99).unwrap();
    rig.zero(source, 1000, 2000).unwrap();
    for block in 0..BLOCKS {
        let found = rig.read(captured, block, 1).unwrap();
        let inside =
            ranges.iter().any(|range| (range.first..range.first + range.count).contains(&BlockNumber::new(block)));
        let kept = before.slice((block * BLOCK) as usize..((block + 1) * BLOCK) as usize);
        assert!(if inside { found == kept } else { found.iter().all(|byte| *byte == 0) }, "block {block}");
    }
    assert_eq!(rig.write(captured, 0, 1, 1), Err(Failure::Block(BlockError::ReadOnly)));
    rig.assert_clean();
    // The capture survives a crash; the process that opens the pool deletes it.
    let mut rig = rig.crash();
    assert_eq!(rig.core.object(captured).unwrap().kind, ObjectKind::Capture);
    rig.delete(captured);
    rig.settle();
    assert_eq!(rig.unique(&[source]), rig.data_blocks());
    rig.assert_clean();
}

#[test]
fn only_captures_take_ranges_and_only_of_others() {
    let mut rig = Rig::new(8_000);
    let (source, other) = (rig.create(64), rig.create(64));
    let captured = capture(&mut rig, source, &[range(0, 64)]).unwrap();
    let mut refused =
        |source, capture, ranges: Vec<BlockRange>| rig.run(Operation::Capture { source, capture, ranges }).unwrap_err();
    assert_eq!(refused(source, other, vec![range(0, 1)]), Failure::Block(BlockError::ReadOnly));
    assert_eq!(refused(captured, captured, vec![range(0, 1)]), Failure::Block(BlockError::ReadOnly));
    assert_eq!(refused(ObjectId(999), captured, vec![range(0, 1)]), Failure::Block(BlockError::Gone));
    for range in [range(64, 1), range(0, 65), range(u64::MAX, 2)] {
        assert!(matches!(refused(source, captured, vec![range]), Failure::Block(BlockError::OutOfRange { .. })));
    }
}

/// A capture of a range of a thick volume must not require space to overwrite the whole volume.
#[test]
fn a_capture_of_a_reserved_volume_promises_only_its_ranges() {
    const BLOCKS: u64 = 2048;
    let mut rig = Rig::new(8_000);
    let thick = rig.create(BLOCKS);
    rig.reserve(thick, 100).unwrap();
    rig.write(thick, 0, BLOCKS, 1).unwrap();
    assert!(rig.clone_of(thick, ObjectKind::Snapshot).is_err());
    let captured = capture(&mut rig, thick, &[range(100, 64)]).unwrap();
    let promised = rig.core.object(thick).unwrap().promised_bytes / BLOCK;
    assert!((64..100).contains(&promised), "{promised}");
    for first in (0..BLOCKS).step_by(256) {
        rig.write(thick, first, 256, 2).unwrap();
    }
    assert!(rig.read(captured, 100, 64).unwrap().iter().all(|byte| *byte == 1));
    rig.assert_clean();
}
