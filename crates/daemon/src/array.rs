//! The queue between the management plane and the reactor.

use bytes::Bytes;
use control::{Action, Control, ControlError, Reply, VolumeView};
use pool::{Catalog, ObjectId};
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

/// Where a reply goes.
type ReplySender<T> = oneshot::Sender<Result<T, ControlError>>;

/// One piece of work for the reactor.
#[derive(Debug)]
pub enum Request {
    /// An action of the administrator.
    Execute {
        /// The action.
        action: Action,
        /// Where the result goes; it may be gone.
        reply: ReplySender<Reply>,
    },
    /// Data for a volume that comes from the daemon itself and not from a host: the content of a demonstration.
    Write {
        /// The volume's object.
        object: ObjectId,
        /// Where it starts; a multiple of 512.
        offset_bytes: u64,
        /// A multiple of 512 bytes.
        data: Bytes,
        /// Told when the data is durable.
        reply: ReplySender<()>,
    },
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
        self.send(|reply| Request::Execute { action, reply }).await
    }

    /// Writes into a volume; durable on return. Errors as for `call`.
    pub async fn write(&self, volume: &VolumeView, offset_bytes: u64, data: Bytes) -> Result<(), ControlError> {
        let object = volume.record.object;
        self.send(|reply| Request::Write { object, offset_bytes, data, reply }).await
    }

    async fn send<T>(&self, request: impl FnOnce(ReplySender<T>) -> Request) -> Result<T, ControlError> {
        let place = match tokio::time::timeout(QUEUE_TIMEOUT, self.requests.reserve()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_closed)) => return Err(ControlError::NotRunning),
            Err(_elapsed) => return Err(ControlError::Busy),
        };
        let (sender, receiver) = oneshot::channel();
        place.send(request(sender));
        match tokio::time::timeout(REPLY_TIMEOUT, receiver).await {
            Ok(Ok(result)) => result,
            Ok(Err(_closed)) => Err(ControlError::NotRunning),
            Err(_elapsed) => Err(ControlError::TimedOut { seconds: REPLY_TIMEOUT.as_secs() }),
        }
    }
}

/// Answers requests on the reactor's thread, several at a time, until the queue is closed and everything taken from it is done. Must run
/// inside a `tokio::task::LocalSet`. A request whose caller has gone is still carried to its end.
///
/// * `write`: stores data in a volume, durable on return.
pub async fn answer<C, W>(control: Rc<Control<C>>, mut requests: mpsc::Receiver<Request>, write: W)
where
    C: Catalog + 'static,
    W: AsyncFn(ObjectId, u64, Bytes) -> Result<(), ControlError> + 'static,
{
    let places = Arc::new(Semaphore::new(CONCURRENT_REQUESTS));
    let write = Rc::new(write);
    while let Some(request) = requests.recv().await {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let (control, write) = (Rc::clone(&control), Rc::clone(&write));
        tokio::task::spawn_local(async move {
            match request {
                Request::Execute { action, reply } => {
                    let _caller_gone = reply.send(control.execute(action).await);
                }
                Request::Write { object, offset_bytes, data, reply } => {
                    let _caller_gone = reply.send(write(object, offset_bytes, data).await);
                }
            }
            drop(place);
        });
    }
    let all = u32::try_from(CONCURRENT_REQUESTS).unwrap_or(u32::MAX);
    let _never_closed = places.acquire_many(all).await;
}
