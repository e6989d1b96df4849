//! A look, and the content that it names.

use super::{Rig, SimMedia, options, write};
use crate::{BlockNumber, ByteRange, Catalog, Core, ObjectId, Pool, Volume};
use block::{BlockDevice, BlockError};
use bytes::Bytes;
use futures_executor::LocalPool;
use media::LocalMedia;
use std::future::Future;

const BLOCKS: u64 = 64;

/// A pool with a volume of 64 blocks, all but the last one with their number in each byte, on the disk alone.
fn rig() -> (Rig, Volume<SimMedia>) {
    let mut rig = Rig::new();
    let volume = rig.volume(BLOCKS * 8);
    for block in 0..BLOCKS - 1 {
        rig.run(write(&volume, block * 8, 8, block as u8 + 1)).unwrap();
    }
    rig.pool.with_core(Core::checkpoint).unwrap();
    let disk = rig.pool.with_core(|core| core.media().disk().clone());
    let (core, _) = Core::open(LocalMedia::open(disk).unwrap(), options(), &mut |_| {}).unwrap();
    let rig = Rig { pool: Pool::new(core), executor: LocalPool::new() };
    let volume = rig.pool.volume(ObjectId(volume.volume().0));
    (rig, volume)
}

/// Brings the map into memory, and some blocks.
fn warm(rig: &mut Rig, volume: &Volume<SimMedia>, blocks: &[u64]) {
    for block in [&[BLOCKS - 2], blocks].concat() {
        assert_eq!(rig.run(super::read(volume, block * 8, 8)), Ok(Bytes::from(vec![block as u8 + 1; 4096])));
    }
}

type Found = Option<Result<(u64, Option<Bytes>), BlockError>>;

/// Looks at the size of the volume, and reads a range.
fn look(volume: &Volume<SimMedia>, rig: &Rig, offset: u64, length: u64) -> impl Future<Output = Found> + 'static {
    let (pool, id) = (rig.pool.clone(), ObjectId(volume.volume().0));
    let range = ByteRange::new(offset, length);
    async move { pool.look_and_read(|view| Ok((view.size_bytes(id)?, Some((id, range))))).await }
}

fn content(offset: u64, length: u64) -> Vec<u8> {
    (offset..offset + length).map(|at| (at / 4096) as u8 + 1).collect()
}

#[test]
fn a_look_reads_what_it_names() {
    let (mut rig, volume) = rig();
    warm(&mut rig, &volume, &[9, 11]);
    for (offset, length) in [(0, 63 * 4096), (4095, 2), (20_001, 100_000), (9 * 4096, 4096), (36_000, 1000), (5, 0)] {
        let found = rig.run(look(&volume, &rig, offset, length));
        let data = (length > 0).then(|| Bytes::from(content(offset, length)));
        assert_eq!(found, Some(Ok((BLOCKS * 4096, data))), "{length} bytes at {offset}");
    }
}

/// The cache is newer than the disk until a checkpoint.
#[test]
fn blocks_in_memory_are_found_there() {
    let (mut rig, volume) = rig();
    warm(&mut rig, &volume, &[]);
    rig.run(write(&volume, 80, 8, 200)).unwrap();
    let found = rig.run(look(&volume, &rig, 0, 20 * 4096)).unwrap().unwrap().1.unwrap();
    let mut wanted = content(0, 20 * 4096);
    wanted[10 * 4096..11 * 4096].fill(200);
    assert!(found == wanted);
}

#[test]
fn what_a_transaction_would_have_to_read_is_not_read() {
    let (mut rig, volume) = rig();
    assert_eq!(rig.run(look(&volume, &rig, 0, 4096)), None, "the map is not in memory");
    warm(&mut rig, &volume, &[]);
    assert_eq!(rig.run(look(&volume, &rig, 62 * 4096, 8192)), None, "a block is not mapped");
    assert_eq!(rig.run(look(&volume, &rig, 62 * 4096, 3 * 4096)), None, "it is beyond the end");
    assert_eq!(rig.run(look(&volume, &rig, u64::MAX, 2)), None);
    let pool = rig.pool.clone();
    let id = ObjectId(volume.volume().0);
    let beyond = rig.run(async move {
        pool.look_and_read(|view| Ok((view.block(id, BlockNumber::new(BLOCKS)).map(drop)?, None))).await
    });
    assert!(matches!(beyond, Some(Err(BlockError::OutOfRange { .. }))), "{beyond:?}");
    rig.pool.with_core(|core| core.stop("a test"));
    assert!(matches!(rig.run(look(&volume, &rig, 0, 4096)), Some(Err(BlockError::PoolStopped { .. }))));
}

/// Content that was replaced and whose block has other content by now is no content of the look. Nothing else of the
/// range is either: it may belong to another owner since.
#[test]
fn a_block_with_other_content_than_the_map_named_is_not_read() {
    let (mut rig, volume) = rig();
    warm(&mut rig, &volume, &[]);
    let disk = rig.pool.with_core(|core| core.media().disk().clone());
    let place = disk.stored().into_iter().rev().find(|block| disk.peek(*block).0 == [21; 4096]).unwrap();
    disk.rot(place, 3);
    let incidents = rig.pool.counters().mismatches;
    assert_eq!(rig.run(look(&volume, &rig, 0, 30 * 4096)), None);
    assert!(rig.pool.counters().mismatches > incidents);
    assert!(rig.pool.take_incidents().is_empty(), "the block may be in use for something else");
    assert_eq!(rig.run(look(&volume, &rig, 0, 20 * 4096)).unwrap().unwrap().1, Some(content(0, 20 * 4096).into()));
}

/// The pool changes while the content is on its way: it is that of the look, or there is none.
#[test]
fn later_changes_are_not_seen() {
    let (mut same, mut none) = (0, 0);
    for turns in 0..30 {
        let (mut rig, volume) = rig();
        warm(&mut rig, &volume, &[]);
        let reading = rig.start(look(&volume, &rig, 0, 40 * 4096));
        let writes: Vec<_> = (0..40).map(|block| rig.start(write(&volume, block * 8, 8, 100 + turns))).collect();
        for _ in 0..turns {
            rig.turn();
        }
        rig.pool.with_core(Core::checkpoint).unwrap();
        let mut found = None;
        for _ in 0..1000 {
            rig.turn();
            found = found.or_else(|| reading.take());
        }
        assert!(writes.iter().all(|write| write.take() == Some(Ok(()))));
        match found {
            Some(Some(Ok((_, Some(data))))) if data == content(0, 40 * 4096) => same += 1,
            Some(None) => none += 1,
            other => panic!("after {turns} turns: {other:?}"),
        }
    }
    assert!(same > 0, "{none} reads came too late");
}
