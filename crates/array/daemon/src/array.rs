//! Access of the management plane to the array: changes go to the reactor through a bounded queue;
//! reads are answered from the mirror on the management plane's own thread.

use control::{Control, ControlError, Request};
use futures_util::future::{FutureExt, LocalBoxFuture};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Largest number of waiting requests; further ones are refused as `busy`.
pub(crate) const QUEUE_LENGTH: usize = 64;
/// Number of requests that the reactor processes concurrently.
const CONCURRENT_REQUESTS: usize = 16;
/// Longest wait of a caller for a place in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait of a caller for the reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// One request for the reactor, with where its reply goes: what the reactor's thread does for it.
pub struct Work(Box<dyn FnOnce(Rc<Control>) -> LocalBoxFuture<'static, ()> + Send>);

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Work")
    }
}

/// The management plane's way to the reactor. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ArrayHandle {
    requests: mpsc::Sender<Work>,
}

impl ArrayHandle {
    /// A handle and the other end of its queue.
    pub fn channel() -> (Self, mpsc::Receiver<Work>) {
        let (requests, receiver) = mpsc::channel(QUEUE_LENGTH);
        (Self { requests }, receiver)
    }

    /// Executes a change on the reactor. Reads after the reply include it.
    ///
    /// Errors besides those of the request: `Busy` if the queue stays full for 5 s, `TimedOut` if
    /// there is no reply within 60 s, `NotRunning` if the reactor has stopped.
    pub async fn call<R: Request>(&self, request: R) -> Result<R::Reply, ControlError> {
        let place = match tokio::time::timeout(QUEUE_TIMEOUT, self.requests.reserve()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_closed)) => return Err(ControlError::NotRunning),
            Err(_elapsed) => return Err(ControlError::Busy),
        };
        let (sender, receiver) = oneshot::channel();
        place.send(Work(Box::new(move |control| {
            async move {
                let _caller_gone = sender.send(control.execute(request).await);
            }
            .boxed_local()
        })));
        match tokio::time::timeout(REPLY_TIMEOUT, receiver).await {
            Ok(Ok(result)) => result,
            Ok(Err(_closed)) => Err(ControlError::NotRunning),
            Err(_elapsed) => Err(ControlError::TimedOut { seconds: REPLY_TIMEOUT.as_secs() }),
        }
    }
}

/// Answers requests on the reactor's thread, several at a time, until the queue is closed and everything taken from it is done. Must run
/// inside a `tokio::task::LocalSet`. A request whose caller has gone is still carried to its end.
pub async fn answer(control: Rc<Control>, mut requests: mpsc::Receiver<Work>) {
    let places = Arc::new(Semaphore::new(CONCURRENT_REQUESTS));
    while let Some(Work(work)) = requests.recv().await {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let control = Rc::clone(&control);
        tokio::task::spawn_local(async move {
            work(control).await;
            drop(place);
        });
    }
    let all = u32::try_from(CONCURRENT_REQUESTS).unwrap_or(u32::MAX);
    let _never_closed = places.acquire_many(all).await;
}
