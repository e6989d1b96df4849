//! Recording of the history in `STATE_DIR/history.redb`: what hosts did, the space of the pool, and counters of
//! offload that outlive restarts and deleted volumes.
//!
//! A thread of its own owns the file ([`keeper`]), so that neither the thread that serves hosts nor the one that
//! serves requests waits for it. Samples that it is too slow for are dropped, and are gaps.

mod feed;
mod forecast;
mod keeper;
#[cfg(test)]
mod tests;

pub(crate) use feed::{feed, kind};
pub(crate) use forecast::Unforeseen;
pub(crate) use keeper::{FILE_NAME, THREAD};

use control::ManagementReport;
use history::{Error, Observation, Store};
use std::collections::BTreeSet;
use std::path::Path;
use tokio::sync::{mpsc, oneshot};

/// Largest number of messages that wait for the thread.
const QUEUE_LENGTH: usize = 128;
/// Largest number of reports that wait for the array.
const MAX_REPORTS: usize = 16;

/// The history cannot be read at present, with the reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unavailable(pub String);

/// Look at the store; `Err` with the reason if there is none.
type Look = Box<dyn FnOnce(Result<&Store, &str>) -> Result<(), Error> + Send>;

/// Message to the thread.
enum Message {
    /// A sample, and increments of counters at its time.
    Observe(Observation, Vec<(String, u64)>),
    /// Entities of the units that exist.
    Exist(BTreeSet<String>),
    Look(Look),
    /// Write everything and end.
    Stop(oneshot::Sender<()>),
}

/// Access to the history. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Recording(Option<mpsc::Sender<Message>>);

impl Recording {
    /// No history is recorded, and none can be read.
    pub(crate) const fn off() -> Self {
        Self(None)
    }

    /// Starts the thread. Also returns what it reports to the array. The file is opened by the thread, so that no
    /// state of it keeps the array from starting.
    pub(crate) fn start(state_dir: &Path, limit_bytes: u64) -> (Self, mpsc::Receiver<ManagementReport>) {
        let (reports, reported) = mpsc::channel(MAX_REPORTS);
        let (messages, queue) = mpsc::channel(QUEUE_LENGTH);
        let path = state_dir.join(FILE_NAME);
        let body = move || keeper::Keeper::new(path, limit_bytes, reports).run(queue);
        match std::thread::Builder::new().name(THREAD.to_owned()).spawn(body) {
            Ok(_detached) => (Self(Some(messages)), reported),
            Err(error) => {
                tracing::error!(%error, "no history is recorded: its thread cannot be started");
                (Self::off(), reported)
            }
        }
    }

    /// Looks at the store, on its thread.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Store) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Unavailable> {
        let ended = || Unavailable("it is not recorded".to_owned());
        let (sender, receiver) = oneshot::channel();
        let look = move |store: Result<&Store, &str>| {
            let (found, failed) = match store.map(look) {
                Ok(Ok(found)) => (Ok(found), Ok(())),
                Ok(Err(error)) => (Err(Unavailable(error.to_string())), Err(error)),
                Err(reason) => (Err(Unavailable(reason.to_owned())), Ok(())),
            };
            let _caller_gone = sender.send(found);
            failed
        };
        let messages = self.0.as_ref().ok_or_else(ended)?;
        messages.send(Message::Look(Box::new(look))).await.map_err(|_ended| ended())?;
        // Dropped without a reply if the look panicked.
        receiver.await.unwrap_or_else(|_dropped| Err(Unavailable("the file is damaged".to_owned())))
    }

    /// Hands a message over if there is room for it.
    fn offer(&self, message: Message) -> bool {
        self.0.as_ref().is_some_and(|messages| messages.try_send(message).is_ok())
    }

    /// Hands an observation over, for tests.
    #[cfg(test)]
    pub(crate) fn observe(&self, observation: history::Observation) -> bool {
        self.offer(Message::Observe(observation, Vec::new()))
    }

    /// Returns when everything is written and the thread has ended.
    pub(crate) async fn stop(&self) {
        let (sender, written) = oneshot::channel();
        if let Some(messages) = &self.0
            && messages.send(Message::Stop(sender)).await.is_ok()
        {
            let _ended = written.await;
        }
    }
}
