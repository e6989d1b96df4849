//! Differences in progress: the objects that each compares, and whether these are still what they were.
//!
//! Rule *pair*: a difference compares two objects that exist, and keep their content, until it ends. Whatever replaces
//! the content of a read-only object tells so here; the difference then fails.

use crate::interface::difference::DifferenceId;
use crate::interface::{ObjectId, PoolError};
use crate::mutations::{Mutation, leaves_out};
use rustc_hash::FxHashMap;

/// Objects that a difference compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// `None`: an object without content.
    pub base: Option<ObjectId>,
    pub new: ObjectId,
}

/// Difference in progress.
struct Session {
    pair: Pair,
    /// Object that is no longer what it was.
    replaced: Option<ObjectId>,
}

/// Differences in progress.
#[derive(Default)]
pub(crate) struct Sessions {
    by_id: FxHashMap<DifferenceId, Session>,
}

impl Sessions {
    /// Begins a difference.
    pub fn begin(&mut self, id: DifferenceId, pair: Pair) {
        self.by_id.insert(id, Session { pair, replaced: None });
    }

    /// Ends a difference.
    pub fn end(&mut self, id: DifferenceId) {
        self.by_id.remove(&id);
    }

    /// Objects that a difference compares, if both are what they were when it began.
    pub fn pair(&self, id: DifferenceId) -> Result<Pair, PoolError> {
        match self.by_id.get(&id) {
            None => Err(PoolError::Busy("the difference was ended".into())),
            Some(Session { replaced: Some(object), .. }) => Err(PoolError::DifferenceEnded(*object)),
            Some(Session { pair, .. }) => Ok(*pair),
        }
    }

    /// Notes that an object was deleted, or got other content or another size.
    pub fn note_replaced(&mut self, object: ObjectId) {
        if self.by_id.is_empty() || leaves_out(Mutation::Pair) {
            return;
        }
        for session in self.by_id.values_mut() {
            if session.pair.new == object || session.pair.base == Some(object) {
                session.replaced.get_or_insert(object);
            }
        }
    }
}
