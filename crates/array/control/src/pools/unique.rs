//! Unique bytes of an object, or of several together: the bytes that deleting them would free.
//!
//! The pool counts them by traversing the unshared part of the object's map. A clone of a terabyte
//! with few changes is counted in microseconds; a terabyte that was written without ever being
//! cloned has a million map pages, which may have to be read from the disk. A request therefore
//! waits for a count no longer than [`PATIENCE`]: the traversal continues, and until it is finished
//! the last count is shown, or none if this is the first. A count that took long is kept for some
//! time, so that counting never takes more than a small part of the time.

use crate::catalog::DynCatalog;
use crate::environment::Environment;
use futures_util::future::{FutureExt, LocalBoxFuture, Shared, select};
use pool::{ObjectId, PoolError, Revision};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Time that one request waits for counts, for all its objects together.
const PATIENCE: Duration = Duration::from_secs(2);
/// Duration below which a count is never reused.
const CHEAP: Duration = Duration::from_millis(10);
/// Ratio of the time for which a longer count is reused to its duration.
const KEPT_FACTOR: u32 = 20;

/// Value that no [`pool::Catalog::changes`] has: marks an unfinished count.
pub(super) const UNFINISHED: Revision = Revision { next_record: u64::MAX, reclaimable_bytes: u64::MAX };

/// Traversal in progress.
type Walk = Shared<LocalBoxFuture<'static, Result<u64, PoolError>>>;

#[derive(Default)]
struct Entry {
    last: Option<Count>,
    running: Option<(Duration, Walk)>,
}

#[derive(Clone, Copy)]
struct Count {
    bytes: u64,
    finished: Duration,
    took: Duration,
}

impl Count {
    fn is_fresh(&self, now: Duration) -> bool {
        self.took >= CHEAP && now.saturating_sub(self.finished) < self.took * KEPT_FACTOR
    }
}

/// Finished and running counts.
#[derive(Default)]
pub(crate) struct UniqueCounts(RefCell<BTreeMap<Vec<ObjectId>, Entry>>);

/// Remaining time that one request waits.
pub(crate) struct Patience(Option<LocalBoxFuture<'static, ()>>);

impl Patience {
    pub(crate) fn new(environment: &dyn Environment) -> Self {
        Self::of(environment, PATIENCE)
    }

    pub(crate) fn of(environment: &dyn Environment, time: Duration) -> Self {
        Self(Some(environment.sleep(time)))
    }
}

impl UniqueCounts {
    /// Counts the bytes of objects together; `None` if the first count takes longer than the
    /// caller's patience. Errors: those of [`pool::Catalog::unique_bytes`].
    pub(crate) async fn of(
        &self,
        catalog: &Rc<dyn DynCatalog>,
        environment: &dyn Environment,
        objects: &[ObjectId],
        patience: &mut Patience,
    ) -> Result<Option<u64>, PoolError> {
        let now = environment.monotonic();
        let last = self.0.borrow().get(objects).and_then(|entry| entry.last);
        if let Some(count) = last.filter(|count| count.is_fresh(now)) {
            return Ok(Some(count.bytes));
        }
        let running = self.0.borrow().get(objects).and_then(|entry| entry.running.clone());
        let (started, walk) = match (running, &patience.0) {
            (Some(running), _) => running,
            (None, Some(_)) => (now, self.start(catalog, objects, now)),
            (None, None) => return Ok(last.map(|count| count.bytes)),
        };
        let finished = match patience.0.take() {
            None => walk.now_or_never(),
            Some(sleep) => match select(walk, sleep).await {
                futures_util::future::Either::Left((result, sleep)) => {
                    patience.0 = Some(sleep);
                    Some(result)
                }
                futures_util::future::Either::Right(((), _)) => None,
            },
        };
        let Some(result) = finished else { return Ok(last.map(|count| count.bytes)) };
        let finished = environment.monotonic();
        let mut entries = self.0.borrow_mut();
        match result {
            Ok(bytes) => {
                let last = Some(Count { bytes, finished, took: finished.saturating_sub(started) });
                entries.insert(objects.to_vec(), Entry { last, running: None });
                Ok(Some(bytes))
            }
            Err(error) => {
                entries.remove(objects);
                Err(error)
            }
        }
    }

    /// Bytes of objects together, as last counted.
    pub(crate) fn last(&self, objects: &[ObjectId]) -> Option<u64> {
        self.0.borrow().get(objects)?.last.map(|count| count.bytes)
    }

    fn start(&self, catalog: &Rc<dyn DynCatalog>, objects: &[ObjectId], now: Duration) -> Walk {
        let (catalog, ids) = (Rc::clone(catalog), objects.to_vec());
        let walk = async move { catalog.unique_bytes(&ids).await }.boxed_local().shared();
        self.0.borrow_mut().entry(objects.to_vec()).or_default().running = Some((now, walk.clone()));
        walk
    }

    /// True if a traversal of the objects is in progress.
    pub(crate) fn is_running(&self, objects: &[ObjectId]) -> bool {
        self.0.borrow().get(objects).is_some_and(|entry| entry.running.is_some())
    }

    /// Number of counts.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Drops the counts for which `exists` is false.
    pub(crate) fn retain(&self, exists: impl Fn(&[ObjectId]) -> bool) {
        self.0.borrow_mut().retain(|objects, _| exists(objects));
    }
}
