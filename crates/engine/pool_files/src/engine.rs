//! Runs of transactions.

use crate::failure::engine_error;
use crate::view::{Attempted, Known, PoolView, byte_range, id};
use bytes::Bytes;
use files::{Attempt, Durability, Engine, EngineError, Named, Object, Outcome, View};
use media::Media;
use pool::{BlockNumber, BlockRange, Failure, ObjectId, Pool, Stability};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// Most unreadable blocks that one run finds before it fails.
const MOST_UNREADABLE: usize = 16;

/// The engine of shares over a pool. Clones, and all others of the same pool, are one engine.
pub struct PoolEngine<M: Media> {
    pool: Pool<M>,
    random: Rc<dyn Fn() -> [u8; 16]>,
}

impl<M: Media> PoolEngine<M> {
    /// Creates a handle. `random` gives unpredictable bytes, for keys.
    pub fn new(pool: Pool<M>, random: impl Fn() -> [u8; 16] + 'static) -> Self {
        Self { pool, random: Rc::new(random) }
    }

    /// Pool below.
    pub const fn pool(&self) -> &Pool<M> {
        &self.pool
    }
}

impl<M: Media> Clone for PoolEngine<M> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), random: Rc::clone(&self.random) }
    }
}

impl<M: Media> fmt::Debug for PoolEngine<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PoolEngine")
    }
}

/// Makes one attempt of `files` over the view of one of the pool.
fn attempt<T>(
    view: &mut pool::View<'_>,
    known: &mut Known,
    attempt: &mut impl Attempt<T>,
) -> Result<pool::Outcome<Result<T, EngineError>>, pool::Missing> {
    let mut adapted = PoolView::new(view, known);
    let outcome = attempt(&mut adapted);
    let decided = match adapted.end(outcome)? {
        Attempted::Decided(Outcome::Commit(value)) => pool::Outcome::Commit(Ok(value)),
        Attempted::Decided(Outcome::Nothing(value)) => pool::Outcome::Nothing(Ok(value)),
        Attempted::Failed(error) => pool::Outcome::Nothing(Err(error)),
    };
    Ok(decided)
}

impl<M: Media + 'static> Engine for PoolEngine<M> {
    async fn run<T, U>(
        &self,
        durability: Durability,
        mut body: impl Attempt<T>,
        after: impl FnOnce(&mut dyn View, T) -> U,
    ) -> Result<U, EngineError> {
        let stability = match durability {
            Durability::Unstable => Stability::Unstable,
            Durability::Durable => Stability::Durable,
        };
        let (mut known, mut after) = (Known::default(), Some(after));
        loop {
            let conclude = |view: &mut pool::View<'_>, result: Result<T, EngineError>| {
                let value = result?;
                let after = after.take().ok_or_else(|| internal("a transaction ended twice"))?;
                Ok(after(&mut PoolView::new(view, &mut Known::default()), value))
            };
            let ended = self.pool.transact_lent(|view| attempt(view, &mut known, &mut body), stability, conclude).await;
            match ended {
                Ok(result) => return result,
                // The attempt is made again, and decides what follows from the damage.
                Err(Failure::Unreadable { object, block })
                    if known.unreadable().len() < MOST_UNREADABLE && known.note_unreadable(object, block) => {}
                Err(failure) => return Err(engine_error(failure)),
            }
        }
    }

    fn try_look<T>(
        &self,
        look: impl FnOnce(&mut dyn View) -> Result<T, files::Missing>,
    ) -> Option<Result<T, EngineError>> {
        let mut known = Known::default();
        let found = self.pool.try_view(|view| {
            let mut adapted = PoolView::new(view, &mut known);
            let found = look(&mut adapted);
            adapted.seen(found)
        })?;
        Some(found.unwrap_or_else(|error| Err(engine_error(error.into()))))
    }

    async fn look_and_read<T>(
        &self,
        look: impl FnOnce(&mut dyn View) -> Result<Named<T>, files::Missing>,
    ) -> Option<Result<(T, Option<Bytes>), EngineError>> {
        let mut known = Known::default();
        let translated = |view: &mut pool::View<'_>| {
            let mut adapted = PoolView::new(view, &mut known);
            let found = look(&mut adapted);
            Ok(match adapted.seen(found)? {
                Ok((found, named)) => (Ok(found), named.map(|(object, bytes)| (id(object), byte_range(&bytes)))),
                Err(error) => (Err(error), None),
            })
        };
        match self.pool.look_and_read(translated).await? {
            Ok((found, content)) => Some(found.map(|found| (found, content))),
            Err(error) => Some(Err(engine_error(error.into()))),
        }
    }

    async fn unique(&self, object: Object, blocks: Range<u64>) -> Result<u64, EngineError> {
        let range = BlockRange::new(BlockNumber::new(blocks.start), blocks.end.saturating_sub(blocks.start));
        self.pool.unique_blocks(ObjectId(object.0), range).await.map_err(engine_error)
    }

    async fn flush(&self) -> Result<(), EngineError> {
        self.pool.flush().await.map_err(engine_error)
    }

    fn incarnation(&self) -> u64 {
        self.pool.incarnation()
    }

    fn random(&self) -> [u8; 16] {
        (self.random)()
    }

    fn is(&self, other: &Self) -> bool {
        self.pool.is(&other.pool)
    }
}

fn internal(reason: &str) -> EngineError {
    EngineError::Internal { reason: reason.to_owned() }
}
