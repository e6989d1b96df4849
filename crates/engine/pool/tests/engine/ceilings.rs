//! Ceilings: how much space an address space may take.

use crate::common::{BLOCK, Rig};
use bytes::Bytes;
use media::{FEATURE_CEILING, RootStore};
use pool::{
    ADDRESS_SPACE_BYTES, BlockNumber, BlockRange, ByteRange, CEILING_UNIT_BYTES, CatalogChange, Failure,
    MAX_CEILING_BYTES, ObjectId, ObjectKind, PoolError, View,
};

/// Blocks of an address space.
const ALL: u64 = ADDRESS_SPACE_BYTES / BLOCK;
/// Blocks of the smallest ceiling.
const UNIT: u64 = CEILING_UNIT_BYTES / BLOCK;

fn block(number: u64) -> BlockNumber {
    BlockNumber::new(number)
}

/// Writes `count` blocks in a transaction.
fn put(rig: &mut Rig, object: ObjectId, first: u64, count: u64) -> Result<(), Failure> {
    let data = Bytes::from(vec![7; (count * BLOCK) as usize]);
    rig.together(move |view| view.write(object, first * BLOCK, data.clone()))
}

fn zero(rig: &mut Rig, object: ObjectId, first: u64, count: u64) -> Result<(), Failure> {
    rig.together(move |view| view.zero(object, ByteRange::new(first * BLOCK, count * BLOCK)))
}

fn share(rig: &mut Rig, object: ObjectId, from: u64, to: u64, count: u64) -> Result<(), Failure> {
    rig.together(move |view| view.clone_blocks((object, block(from)), (object, block(to)), count))
}

fn allot(rig: &mut Rig, object: ObjectId, first: u64, count: u64) -> Result<(), Failure> {
    rig.together(move |view| view.allot(object, BlockRange::new(block(first), count)))
}

fn limit(rig: &mut Rig, id: ObjectId, ceiling_bytes: Option<u64>) -> Result<(), Failure> {
    rig.change(CatalogChange::SetCeiling { id, ceiling_bytes })
}

fn used(rig: &Rig, object: ObjectId) -> u64 {
    rig.core.object(object).unwrap().used_bytes() / BLOCK
}

/// A refusal: how many blocks it says that were needed, and left.
fn refused(result: Result<(), Failure>) -> (u64, u64) {
    match result {
        Err(Failure::Pool(PoolError::AboveCeiling { needed_bytes, available_bytes })) => {
            (needed_bytes / BLOCK, available_bytes / BLOCK)
        }
        other => panic!("{other:?}"),
    }
}

/// A pool with an address space that may use `units` units.
fn limited(units: u64) -> (Rig, ObjectId) {
    let mut rig = Rig::new(2048 * 4);
    let object = rig.create(ALL);
    limit(&mut rig, object, Some(units * CEILING_UNIT_BYTES)).unwrap();
    (rig, object)
}

#[test]
fn writes_beyond_the_ceiling_are_refused_and_change_nothing() {
    let (mut rig, object) = limited(1);
    let (other, last) = (rig.create(ALL), UNIT - 6);
    put(&mut rig, object, 0, 200).unwrap();
    put(&mut rig, object, 250, 50).unwrap();
    assert_eq!(used(&rig, object), last);
    let before = rig.core.space();
    // Small content, content that has a place of its own, and both with a change that is possible.
    assert_eq!(refused(put(&mut rig, object, 300, 7)), (7, 6));
    assert_eq!(refused(put(&mut rig, object, 300, 64)), (64, 6));
    let data = Bytes::from(vec![9; 8 * BLOCK as usize]);
    let both = move |view: &mut View<'_>| {
        view.write(object, 0, data.slice(..BLOCK as usize))?;
        view.write(object, 1 << 40, data.slice(BLOCK as usize..))
    };
    assert_eq!(refused(rig.together(both)), (7, 6));
    assert_eq!(rig.read(object, 0, 1).unwrap()[0], 7);
    assert_eq!(used(&rig, object), last);
    rig.settle();
    assert_eq!(rig.core.space().used_bytes, before.used_bytes);
    // What is mapped already, and zeros, need nothing.
    put(&mut rig, object, 0, 200).unwrap();
    let zeros = Bytes::from(vec![0; 100 * BLOCK as usize]);
    rig.together(move |view| view.write(object, 900 * BLOCK, zeros.clone())).unwrap();
    put(&mut rig, object, 295, 11).unwrap();
    assert_eq!(used(&rig, object), UNIT);
    put(&mut rig, other, 0, 300).unwrap();
    // A transaction that frees as much as it takes is none that grows.
    let swap = move |view: &mut View<'_>| {
        view.zero(object, ByteRange::new(0, 100 * BLOCK))?;
        view.write(object, 1 << 41, Bytes::from(vec![5; 100 * BLOCK as usize]))
    };
    rig.together(swap).unwrap();
    assert_eq!(used(&rig, object), UNIT);
    rig.assert_clean();
}

#[test]
fn a_ceiling_below_what_is_used_refuses_growth_alone() {
    let (mut rig, object) = limited(2);
    put(&mut rig, object, 0, 2 * UNIT).unwrap();
    limit(&mut rig, object, Some(CEILING_UNIT_BYTES)).unwrap();
    assert_eq!(refused(put(&mut rig, object, 2 * UNIT, 1)), (1, 0));
    put(&mut rig, object, 7, 1).unwrap();
    zero(&mut rig, object, 0, UNIT + 1).unwrap();
    assert_eq!(used(&rig, object), UNIT - 1);
    put(&mut rig, object, 0, 1).unwrap();
    assert_eq!(refused(put(&mut rig, object, 1, 1)), (1, 0));
    limit(&mut rig, object, None).unwrap();
    put(&mut rig, object, 1, 300).unwrap();
    rig.assert_clean();
}

/// Removing a file that is open takes a block for its new name.
#[test]
fn what_frees_space_may_take_a_few_blocks_above_the_ceiling() {
    let (mut rig, object) = limited(1);
    put(&mut rig, object, 0, UNIT).unwrap();
    let take = move |blocks: usize| {
        move |view: &mut View<'_>| {
            view.frees_space();
            view.write(object, 1 << 30, Bytes::from(vec![1; blocks * BLOCK as usize]))
        }
    };
    assert_eq!(refused(rig.together(take(65))), (65, 0));
    rig.together(take(64)).unwrap();
    assert_eq!(used(&rig, object), UNIT + 64);
}

#[test]
fn clones_of_holes_and_over_content_count_what_they_add() {
    let (mut rig, object) = limited(2);
    put(&mut rig, object, 0, UNIT).unwrap();
    put(&mut rig, object, 10_000, 100).unwrap();
    // 156 blocks are left, and 100 of the destination are mapped.
    assert_eq!(refused(share(&mut rig, object, 0, 9_800, 256)), (200, 156));
    share(&mut rig, object, 0, 9_900, 256).unwrap();
    assert_eq!(used(&rig, object), 2 * UNIT);
    assert_eq!(refused(share(&mut rig, object, 0, 20_000, 1)), (1, 0));
    // A clone of a hole frees what was there.
    share(&mut rig, object, 1000, 9_900, 2).unwrap();
    share(&mut rig, object, 255, 20_000, 1000).unwrap();
    assert_eq!(used(&rig, object), 2 * UNIT - 1);
    // From content that the same transaction writes.
    let written_and_shared = move |view: &mut View<'_>| {
        view.write(object, 30_000 * BLOCK, Bytes::from(vec![3; BLOCK as usize]))?;
        view.clone_blocks((object, block(30_000)), (object, block(40_000)), 1)
    };
    assert_eq!(refused(rig.together(written_and_shared)), (2, 1));
    rig.assert_clean();
}

#[test]
fn allotments_count_and_the_writes_that_they_promised_do_not() {
    let (mut rig, object) = limited(1);
    allot(&mut rig, object, 0, 200).unwrap();
    let promised = used(&rig, object);
    assert!((200..=206).contains(&promised), "{promised}");
    let (needed, left) = refused(allot(&mut rig, object, 1000, 60));
    assert!(needed >= 60 && left == UNIT - promised, "{needed} {left}");
    // The pages of the map that this takes are no longer promised.
    put(&mut rig, object, 5000, UNIT - promised).unwrap();
    assert!((UNIT - 6..=UNIT).contains(&used(&rig, object)));
    put(&mut rig, object, 0, 200).unwrap();
    assert!(used(&rig, object) <= UNIT);
    zero(&mut rig, object, 0, 100).unwrap();
    put(&mut rig, object, 0, 100).unwrap();
    rig.assert_clean();
    // A snapshot shares the allotted blocks, and so promises them once more.
    let (needed, _) = refused(rig.clone_of(object, ObjectKind::Snapshot).map(|_| ()));
    assert!(needed >= 200, "{needed}");
    limit(&mut rig, object, Some(2 * CEILING_UNIT_BYTES)).unwrap();
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    assert_eq!(rig.core.object(snapshot).unwrap().ceiling_bytes, None);
    assert!(used(&rig, object) > UNIT && used(&rig, object) <= 2 * UNIT);
}

/// Lets an address space use what it uses now and nothing beyond: fills it up to the smallest ceiling.
fn fill(rig: &mut Rig, object: ObjectId) {
    limit(rig, object, Some(CEILING_UNIT_BYTES)).unwrap();
    let rest = UNIT - used(rig, object);
    put(rig, object, 1 << 30, rest).unwrap();
    assert_eq!(used(rig, object), UNIT);
}

#[test]
fn a_promise_that_is_split_may_rise_above_the_ceiling_until_it_is_counted() {
    let mut rig = Rig::new(2048 * 4);
    let object = rig.create(ALL);
    allot(&mut rig, object, 0, 100).unwrap();
    put(&mut rig, object, 0, 10).unwrap();
    put(&mut rig, object, 90, 10).unwrap();
    share(&mut rig, object, 0, 1 << 20, 5).unwrap();
    fill(&mut rig, object);
    // Which part has the five shared blocks is not known.
    rig.together(move |view| view.release(object, BlockRange::new(block(50), 1))).unwrap();
    assert!(used(&rig, object) > UNIT);
    assert_eq!(rig.core.counters().above_ceilings, 0);
    rig.settle();
    assert!(used(&rig, object) < UNIT);
}

#[test]
fn map_pages_that_zeros_beside_an_allotment_free_may_be_promised_above_the_ceiling() {
    let mut rig = Rig::new(2048 * 4);
    let (object, beside) = (rig.create(ALL), 1 << 40);
    let allotted = beside + 8;
    allot(&mut rig, object, allotted, 4).unwrap();
    // A write takes the promise for map pages, and the block beside it keeps the pages.
    put(&mut rig, object, beside, 1).unwrap();
    put(&mut rig, object, allotted, 1).unwrap();
    zero(&mut rig, object, allotted, 1).unwrap();
    fill(&mut rig, object);
    zero(&mut rig, object, beside, 1).unwrap();
    assert!(used(&rig, object) > UNIT);
    assert_eq!(rig.core.counters().above_ceilings, 0);
}

#[test]
fn a_rollback_to_more_than_the_ceiling_is_refused() {
    let (mut rig, object) = limited(2);
    put(&mut rig, object, 0, 2 * UNIT).unwrap();
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    zero(&mut rig, object, 0, UNIT + 1).unwrap();
    limit(&mut rig, object, Some(CEILING_UNIT_BYTES)).unwrap();
    assert_eq!(refused(rig.change(CatalogChange::Rollback { id: object, source: snapshot })), (UNIT + 1, 1));
    limit(&mut rig, object, Some(2 * CEILING_UNIT_BYTES)).unwrap();
    rig.change(CatalogChange::Rollback { id: object, source: snapshot }).unwrap();
    let ceiling = rig.core.object(object).unwrap().ceiling_bytes;
    assert_eq!((used(&rig, object), ceiling), (2 * UNIT, Some(2 * CEILING_UNIT_BYTES)));
}

#[test]
fn a_ceiling_survives_crashes_and_checkpoints_and_sets_its_feature_bit_first() {
    let mut rig = Rig::new(2048 * 4);
    let object = rig.create(ALL);
    assert_eq!(rig.core.media().features() & FEATURE_CEILING, 0);
    limit(&mut rig, object, Some(3 * CEILING_UNIT_BYTES)).unwrap();
    assert_ne!(rig.core.media().features() & FEATURE_CEILING, 0);
    let ceiling = |rig: &Rig| rig.core.object(object).unwrap().ceiling_bytes;
    let mut rig = rig.crash();
    assert_eq!(ceiling(&rig), Some(3 * CEILING_UNIT_BYTES));
    rig.core.checkpoint().unwrap();
    let mut rig = rig.crash();
    assert_eq!(ceiling(&rig), Some(3 * CEILING_UNIT_BYTES));
    assert_eq!(refused(put(&mut rig, object, 0, 3 * UNIT + 1)).0, 3 * UNIT + 1);
    limit(&mut rig, object, None).unwrap();
    rig.core.checkpoint().unwrap();
    assert_eq!(ceiling(&rig.crash()), None);
}

#[test]
fn only_writable_address_spaces_have_a_ceiling_of_whole_units() {
    let mut rig = Rig::new(2048 * 4);
    let (object, volume) = (rig.create(ALL), rig.create(64));
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    let unit = CEILING_UNIT_BYTES;
    for (id, bytes) in [
        (object, Some(0)),
        (object, Some(unit - 1)),
        (object, Some(unit + BLOCK)),
        (object, Some(MAX_CEILING_BYTES + unit)),
        (object, Some(u64::MAX)),
        (volume, Some(unit)),
        (volume, None),
        (snapshot, Some(unit)),
    ] {
        let result = limit(&mut rig, id, bytes);
        assert!(matches!(result, Err(Failure::Pool(PoolError::BadCeiling { .. }))), "{id} {bytes:?}: {result:?}");
    }
    assert_eq!(limit(&mut rig, ObjectId(99), None), Err(Failure::Pool(PoolError::NoSuchObject(ObjectId(99)))));
    limit(&mut rig, object, Some(MAX_CEILING_BYTES)).unwrap();
    let mut rig = rig.crash();
    rig.core.checkpoint().unwrap();
    assert_eq!(rig.crash().core.object(object).unwrap().ceiling_bytes, Some(MAX_CEILING_BYTES));
}

#[test]
fn a_look_sees_the_room_below_the_ceiling() {
    let (mut rig, object) = limited(4);
    let other = rig.create(ALL);
    put(&mut rig, object, 0, 100).unwrap();
    let room = |rig: &mut Rig, id| rig.core.try_view(|view| view.room(id)).unwrap().unwrap();
    let found = room(&mut rig, object);
    assert_eq!((found.total_blocks, found.free_blocks, found.used_blocks), (4 * UNIT, 4 * UNIT - 100, 100));
    let pool = room(&mut rig, other);
    assert!(pool.total_blocks > 8000 && pool.free_blocks > 4000 && pool.used_blocks == 0, "{pool:?}");
    // Not more than the pool has.
    limit(&mut rig, object, Some(1 << 40)).unwrap();
    let found = room(&mut rig, object);
    assert_eq!((found.total_blocks, found.free_blocks), (pool.total_blocks, pool.free_blocks));
    limit(&mut rig, object, Some(CEILING_UNIT_BYTES)).unwrap();
    put(&mut rig, object, 100, 156).unwrap();
    assert_eq!(room(&mut rig, object).free_blocks, 0);
}
