//! Differences through the handle: steps as futures, dropped ones, and the end of a session.

use super::{Rig, write};
use crate::{BlockNumber, Catalog, CatalogChange, ChangedContent, ObjectId, ObjectKind, PoolError};

impl Rig {
    /// Two snapshots of a volume; blocks 1 and 2 differ.
    fn compared(&mut self) -> (ObjectId, ObjectId) {
        let volume = self.volume(40 * 2048);
        self.run(write(&volume, 0, 10 * 2048, 1)).unwrap();
        let id = self.pool.with_core(|core| core.last_object_id());
        let base = self.snapshot(id);
        self.run(write(&volume, 8, 16, 2)).unwrap();
        (base, self.snapshot(id))
    }

    fn snapshot(&mut self, source: ObjectId) -> ObjectId {
        let id = self.pool.new_object_id();
        self.change(CatalogChange::CloneObject { source, id, kind: ObjectKind::Snapshot });
        id
    }

    fn change(&mut self, change: CatalogChange) {
        let pool = self.pool.clone();
        self.run(async move { pool.commit(vec![change]).await }).unwrap();
    }
}

#[test]
fn steps_lead_from_the_first_block_to_the_end() {
    let mut rig = Rig::new();
    let (base, new) = rig.compared();
    let mut difference = rig.pool.difference(Some(base), new, BlockNumber::FIRST).unwrap();
    let (blocks, end) = rig.run(async move {
        let mut blocks = Vec::new();
        while let Some(step) = difference.step().await.unwrap() {
            assert_eq!(step.next, difference.next());
            for run in step.runs {
                assert!(matches!(run.content, ChangedContent::Data(_)));
                blocks.extend(run.first.get()..run.first.get() + run.range().count);
            }
        }
        (blocks, difference.step().await)
    });
    assert_eq!((blocks, end), (vec![1, 2], Ok(None)));
}

#[test]
fn a_step_whose_future_was_dropped_is_repeated_and_waits_for_the_background() {
    let mut rig = Rig::new();
    let (base, new) = rig.compared();
    let mut difference = rig.pool.difference(Some(base), new, BlockNumber::FIRST).unwrap();
    {
        let mut step = Box::pin(difference.step());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(step.as_mut().poll(&mut context).is_pending());
        rig.pool.pump(0);
        assert!(step.as_mut().poll(&mut context).is_pending(), "no background work, no step");
    }
    assert_eq!(difference.next(), Some(BlockNumber::FIRST));
    let step = rig.run(async move { difference.step().await }).unwrap().unwrap();
    assert_eq!(step.runs.len(), 1);
}

#[test]
fn a_difference_that_is_dropped_leaves_nothing_and_one_without_its_object_fails() {
    let mut rig = Rig::new();
    let (base, new) = rig.compared();
    let mut dropped = rig.pool.difference(Some(base), new, BlockNumber::FIRST).unwrap();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(Box::pin(dropped.step()).as_mut().poll(&mut context).is_pending());
    drop(dropped);
    rig.turn();
    assert!(rig.pool.0.awaited.borrow().is_empty() && !rig.pool.with_core(|core| core.wants_background()));
    let mut difference = rig.pool.difference(Some(base), new, BlockNumber::FIRST).unwrap();
    rig.change(CatalogChange::DeleteObject { id: base });
    assert_eq!(rig.run(async move { difference.step().await }), Err(PoolError::DifferenceEnded(base)));
    let refused = rig.pool.difference(Some(base), new, BlockNumber::FIRST).map(drop);
    assert_eq!(refused, Err(PoolError::NoSuchObject(base)));
}
