//! Copy of the facts for other threads, so that reads take no time of the thread that owns the
//! array.
//!
//! The owner sends only changes ([`Delta`]): edits of the directory as they are applied, and all
//! others when [`Control::publish_facts`](crate::Control::publish_facts) finds them. That runs before the reply to
//! each change, so that the requester can read its result, and when other code calls it. There is only one copy,
//! which each reader first brings up to date: a reader that is slow with its reply keeps no old
//! state.

mod attention;
mod changes;
mod events;
mod news;
mod publish;
pub(crate) mod publisher;
mod view;

pub use changes::RecordChange;
pub use news::{Known, News};

use crate::error::ControlError;
use crate::read::Read;
use jiff::Timestamp;
use pool::ObjectId;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use view::{Delta, View};

/// Facts for readers on other threads. Cheap to clone.
#[derive(Clone)]
pub struct Mirror(Arc<Mutex<Model>>);

struct Model {
    view: View,
    deltas: Receiver<Vec<Delta>>,
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Mirror")
    }
}

impl Mirror {
    fn new(view: View, deltas: Receiver<Vec<Delta>>) -> Self {
        Self(Arc::new(Mutex::new(Model { view, deltas })))
    }

    /// Counts that a reply needs and that are missing or older than the last change. True if any
    /// are missing.
    pub fn stale_counts<R: Read>(&self, request: &R) -> Result<(Vec<Vec<ObjectId>>, bool), ControlError> {
        let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        model.catch_up()?;
        let view = &model.view;
        let mut counts = request.counted(view);
        counts.retain(|objects| view.counts.get(objects).is_none_or(|count| count.changes != view.changes));
        let is_missing = counts.iter().any(|objects| !view.counts.contains_key(objects));
        Ok((counts, is_missing))
    }

    /// Answers a request from all changes sent so far. Errors: those of the request; `NotRunning`
    /// if the array has ended.
    pub fn read<R: Read>(&self, request: &R) -> Result<R::Reply, ControlError> {
        let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        model.catch_up()?;
        request.answer(&model.view)
    }

    /// Adds a sample of what hosts did since the last one. `processor_ns`: processor time so far of
    /// the threads that serve hosts. Errors: `NotRunning` if the array has ended.
    pub fn sample(&self, processor_ns: u64) -> Result<(), ControlError> {
        let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        model.catch_up()?;
        model.view.sample(processor_ns);
        Ok(())
    }

    /// News for a reader. Errors: `NotRunning` if the array has ended.
    pub fn news(&self, known: Known) -> Result<News, ControlError> {
        let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        model.catch_up()?;
        Ok(model.view.news(known))
    }

    /// Start of the array and all that the mirror has, for a reader that follows from now on. Errors:
    /// `NotRunning` if the array has ended.
    pub fn known(&self) -> Result<(Timestamp, Known), ControlError> {
        let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        model.catch_up()?;
        Ok(model.view.known())
    }

    /// Number of objects of the pool in the copy.
    #[cfg(test)]
    pub(crate) fn object_count(&self) -> usize {
        let mut model = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        model.catch_up().map_or(0, |()| model.view.objects.len())
    }

    /// Applies pending changes, so that they do not wait for a reader. Errors: `NotRunning` if the
    /// array has ended.
    pub fn catch_up(&self) -> Result<(), ControlError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).catch_up()
    }
}

impl Model {
    fn catch_up(&mut self) -> Result<(), ControlError> {
        loop {
            match self.deltas.try_recv() {
                Ok(deltas) => deltas.into_iter().for_each(|delta| self.view.apply(delta)),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(ControlError::NotRunning),
            }
        }
    }
}
