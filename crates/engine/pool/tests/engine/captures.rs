//! Captures: ranges of a volume kept as they were at one instant.
use crate::common::{BLOCK, Rig};
use block::BlockError;
use pool::{
    BlockNumber, BlockRange, CatalogChange, Failure, Missing, ObjectId, ObjectKind, Operation, Outcome, Output,
    Stability, View,
};
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

/// Shares blocks in a transaction.
fn share(rig: &mut Rig, from: (ObjectId, u64), to: (ObjectId, u64), blocks: u64) -> Result<(), Failure> {
    let attempt = move |view: &mut View<'_>| -> Result<Outcome<()>, Missing> {
        let at = |(object, block): (ObjectId, u64)| (object, BlockNumber::new(block));
        view.clone_blocks(at(from), at(to), blocks)?;
        Ok(Outcome::Commit(()))
    };
    let (id, _) = rig.core.transact(attempt, Stability::Unstable);
    for _ in 0..100_000 {
        if let Some((_, result)) = rig.take(id) {
            return result.map(|output| assert_eq!(output, Output::Done));
        }
        rig.core.pump(1);
    }
    panic!("a transaction never finishes");
}

/// A capture that is filled from another place becomes a volume in one commit, or there is none.
#[test]
fn a_capture_becomes_a_volume_in_one_commit() {
    let mut rig = Rig::new(20_000);
    let (source, capture, id) = (rig.create(4096), rig.core.new_object_id(), rig.core.new_object_id());
    for first in (1024..3072).step_by(128) {
        rig.write(source, first, 100, (first / 128) as u8).unwrap();
    }
    rig.change(CatalogChange::CreateCapture { id: capture, size_bytes: 65_536 * BLOCK }).unwrap();
    share(&mut rig, (source, 1024), (capture, 0), 2000).unwrap();
    let expected = rig.read(source, 1024, 2000).unwrap();
    let used = rig.data_blocks();
    let size_bytes = 2000 * BLOCK;
    let becomes = CatalogChange::capture_becomes_volume(capture, id, size_bytes);
    rig.run(Operation::Catalog(becomes.to_vec())).unwrap();
    rig.write(source, 1024, 1, 99).unwrap();
    let mut rig = rig.crash();
    let volume = rig.core.object(id).unwrap();
    assert_eq!((volume.kind, volume.size_bytes, rig.core.object(capture)), (ObjectKind::Volume, size_bytes, None));
    assert!(rig.read(id, 0, 2000).unwrap() == expected);
    rig.settle();
    assert_eq!(rig.data_blocks(), used + 1, "one block was written");
    rig.write(id, 0, 1, 98).unwrap();
    rig.assert_clean();
}

#[test]
fn a_transaction_shares_into_captures_and_not_into_snapshots() {
    let mut rig = Rig::new(8_000);
    let odd = rig.core.new_object_id();
    rig.change(CatalogChange::CreateVolume { id: odd, size_bytes: 2 * BLOCK + 512 }).unwrap();
    rig.write(odd, 1, 1, 7).unwrap();
    rig.run(Operation::Write { object: odd, offset: 2 * BLOCK, data: bytes::Bytes::from(vec![8; 512]), forced: false })
        .unwrap();
    let captured = rig.core.new_object_id();
    rig.change(CatalogChange::CreateCapture { id: captured, size_bytes: 4 * BLOCK }).unwrap();
    share(&mut rig, (odd, 0), (captured, 1), 3).unwrap();
    let found = rig.read(captured, 0, 4).unwrap();
    let firsts = [0, 1, 2, 3].map(|block| found[block * BLOCK as usize]);
    assert_eq!((firsts, found[3 * BLOCK as usize + 511..][..2].to_vec()), ([0, 0, 7, 8], vec![8, 0]));
    // The last block of a source may be short, that of a destination not.
    for (from, to, blocks) in [((odd, 1), (captured, 0), 3), ((captured, 1), (odd, 0), 3), ((odd, 4), (captured, 0), 0)]
    {
        let refused = share(&mut rig, from, to, blocks);
        assert!(matches!(refused, Err(Failure::Block(BlockError::OutOfRange { .. }))), "{refused:?}");
    }
    let snapshot = rig.clone_of(odd, ObjectKind::Snapshot).unwrap();
    assert_eq!(share(&mut rig, (odd, 1), (snapshot, 0), 1), Err(Failure::Block(BlockError::ReadOnly)));
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
