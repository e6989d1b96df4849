//! The queue between the management plane and the reactor.

use control::{Action, Control, ControlError, Reply};
use pool::Catalog;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Requests that may wait; more are refused as `busy`.
pub(crate) const QUEUE_LENGTH: usize = 64;
/// Requests that the reactor works on at once.
const CONCURRENT_REQUESTS: usize = 16;
/// How long a caller waits for a place in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a caller waits for the reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// One piece of work for the reactor: an action of the administrator.
#[derive(Debug)]
pub struct Request {
    /// The action.
    pub action: Action,
    /// Where the result goes; it may be gone.
    pub reply: oneshot::Sender<Result<Reply, ControlError>>,
}

/// The management plane's way to the reactor. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ArrayHandle {
    requests: mpsc::Sender<Request>,
}

impl ArrayHandle {
    /// A handle and the other end of its queue.
    pub fn channel() -> (Self, mpsc::Receiver<Request>) {
        let (requests, receiver) = mpsc::channel(QUEUE_LENGTH);
        (Self { requests }, receiver)
    }

    /// Has an action executed.
    ///
    /// Besides what the action itself returns: `Busy` when the queue stays full for 5 s, `TimedOut` when there is no reply within 60 s,
    /// `NotRunning` when the reactor has stopped.
    pub async fn call(&self, action: Action) -> Result<Reply, ControlError> {
        let place = match tokio::time::timeout(QUEUE_TIMEOUT, self.requests.reserve()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_closed)) => return Err(ControlError::NotRunning),
            Err(_elapsed) => return Err(ControlError::Busy),
        };
        let (sender, receiver) = oneshot::channel();
        place.send(Request { action, reply: sender });
        match tokio::time::timeout(REPLY_TIMEOUT, receiver).await {
            Ok(Ok(result)) => result,
            Ok(Err(_closed)) => Err(ControlError::NotRunning),
            Err(_elapsed) => Err(ControlError::TimedOut { seconds: REPLY_TIMEOUT.as_secs() }),
        }
    }
}

/// Answers requests on the reactor's thread, several at a time, until the queue is closed and everything taken from it is done. Must run
/// inside a `tokio::task::LocalSet`. A request whose caller has gone is still carried to its end.
pub async fn answer<C: Catalog + 'static>(control: Rc<Control<C>>, mut requests: mpsc::Receiver<Request>) {
    let places = Arc::new(Semaphore::new(CONCURRENT_REQUESTS));
    while let Some(request) = requests.recv().await {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let control = Rc::clone(&control);
        tokio::task::spawn_local(async move {
            let Request { action, reply } = request;
            let _caller_gone = reply.send(control.execute(action).await);
            drop(place);
        });
    }
    let all = u32::try_from(CONCURRENT_REQUESTS).unwrap_or(u32::MAX);
    let _never_closed = places.acquire_many(all).await;
}
