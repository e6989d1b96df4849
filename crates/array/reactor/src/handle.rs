//! Access of the management plane to the array: changes go to the reactor through a bounded queue;
//! reads are answered from the mirror on the management plane's own thread.

mod freshness;
#[cfg(test)]
mod tests;

use crate::measurements::Measurements;
use control::{Control, ControlError, Health, HealthShow, Mirror, Read, Request};
use freshness::Freshness;
use futures_util::future::{FutureExt, LocalBoxFuture};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

/// Largest number of waiting requests; further ones are refused as `busy`.
pub(crate) const QUEUE_LENGTH: usize = 64;
/// Number of requests that the reactor processes concurrently.
const CONCURRENT_REQUESTS: usize = 16;
/// Longest wait of a caller for a place in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait of a caller for the reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Request for the reactor: a function that the reactor's thread runs, and that sends the reply.
struct Work(Box<dyn FnOnce(Rc<Control>) -> LocalBoxFuture<'static, ()> + Send>);

/// The reactor's end of an [`ArrayHandle`]; see [`answer`].
pub struct Requests {
    queue: mpsc::Receiver<Work>,
    pings: mpsc::Receiver<oneshot::Sender<()>>,
    mirror: watch::Sender<Option<Reading>>,
    measurements: Arc<Measurements>,
}

impl Requests {
    /// Measurements that the management plane shows.
    pub fn measurements(&self) -> Arc<Measurements> {
        Arc::clone(&self.measurements)
    }
}

impl std::fmt::Debug for Requests {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Requests")
    }
}

/// Mirror, and its synchronization with the reactor.
#[derive(Clone, Debug)]
struct Reading {
    mirror: Mirror,
    freshness: Arc<Freshness>,
}

/// Access of the management plane to the array. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ArrayHandle {
    requests: mpsc::Sender<Work>,
    pings: mpsc::Sender<oneshot::Sender<()>>,
    mirror: watch::Receiver<Option<Reading>>,
    measurements: Arc<Measurements>,
    /// Number of samples taken so far.
    samples: Arc<watch::Sender<u64>>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Work")
    }
}

impl ArrayHandle {
    /// Creates a handle and its other end.
    pub fn channel() -> (Self, Requests) {
        let (requests, queue) = mpsc::channel(QUEUE_LENGTH);
        let (pings, pinged) = mpsc::channel(1);
        let (sender, mirror) = watch::channel(None);
        let measurements = Arc::<Measurements>::default();
        let handle = Self { requests, pings, mirror, measurements: Arc::clone(&measurements), samples: Arc::default() };
        (handle, Requests { queue, pings: pinged, mirror: sender, measurements })
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

    /// Returns when the reactor's thread has run a task, whatever changes are waiting for.
    ///
    /// Errors: `TimedOut` if it does not within 60 s, `NotRunning` if the reactor has stopped.
    pub async fn ping(&self) -> Result<(), ControlError> {
        let (sender, receiver) = oneshot::channel();
        let answered = async {
            self.pings.send(sender).await.map_err(|_closed| ControlError::NotRunning)?;
            receiver.await.map_err(|_closed| ControlError::NotRunning)
        };
        match tokio::time::timeout(REPLY_TIMEOUT, answered).await {
            Ok(result) => result,
            Err(_elapsed) => Err(ControlError::TimedOut { seconds: REPLY_TIMEOUT.as_secs() }),
        }
    }

    /// Answers from the mirror once it includes everything acknowledged before, which takes
    /// milliseconds; if the reactor does not respond, from the present mirror. Waits for counts of
    /// bytes, except for a list that needs many of them and has earlier counts for all.
    ///
    /// Errors: those of the request; `NotRunning` if the reactor has stopped.
    pub async fn read<R: Read>(&self, request: R) -> Result<R::Reply, ControlError> {
        let Reading { mirror, freshness } = self.reading().await?;
        freshness.published().await;
        let (stale, is_missing) = mirror.stale_counts(&request)?;
        if !stale.is_empty() {
            freshness.counted(stale, R::FRESH_COUNTS || is_missing).await;
        }
        mirror.read(&request)
    }

    /// Health of the array from the present mirror. A reactor without progress for 5 s has failed.
    pub async fn health(&self) -> Result<Health, ControlError> {
        let Reading { mirror, freshness } = self.reading().await?;
        if freshness.is_stuck() { Ok(Health::Failed) } else { mirror.read(&HealthShow) }
    }

    /// Measurements of the array.
    pub fn measurements(&self) -> Arc<Measurements> {
        Arc::clone(&self.measurements)
    }

    /// The same array for a caller whose changes are refused as `NotRunning`. Reads are answered.
    #[cfg(feature = "testing")]
    pub fn without_changes(&self) -> Self {
        let (requests, _closed) = mpsc::channel(1);
        Self { requests, ..self.clone() }
    }

    /// Takes a sample of the counters each second, which also keeps the mirror's queue short. Ends
    /// with the reactor.
    pub async fn follow(self) {
        let mut ticks = tokio::time::interval(SAMPLE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while let Ok(Reading { mirror, freshness }) = self.reading().await {
            ticks.tick().await;
            freshness.published().await;
            if mirror.sample(self.measurements.loads.all_ns()).is_err() {
                return;
            }
            self.samples.send_modify(|number| *number += 1);
        }
    }

    /// Number of samples taken so far; changes each second.
    pub fn samples(&self) -> watch::Receiver<u64> {
        self.samples.subscribe()
    }

    /// The mirror as it is, without what was acknowledged last. Errors: `NotRunning` if the reactor
    /// has stopped.
    pub async fn mirror(&self) -> Result<Mirror, ControlError> {
        Ok(self.reading().await?.mirror)
    }

    /// Returns the mirror as soon as the reactor has created it.
    async fn reading(&self) -> Result<Reading, ControlError> {
        let mut mirror = self.mirror.clone();
        let reading = mirror.wait_for(Option::is_some).await.map_err(|_ended| ControlError::NotRunning)?;
        reading.clone().ok_or(ControlError::NotRunning)
    }
}

/// Answers requests on the reactor's thread, several at a time, and keeps the mirror up to date,
/// until the queue is closed and every request taken from it is complete. Must run inside a
/// `tokio::task::LocalSet`. A request whose caller has gone is still executed to its end.
pub async fn answer(control: Rc<Control>, requests: Requests) {
    let Requests { mut queue, mut pings, mirror, measurements } = requests;
    let answering = tokio::task::spawn_local(async move {
        while let Some(ping) = pings.recv().await {
            let _caller_gone = ping.send(());
        }
    });
    let freshness = Arc::new(Freshness::default());
    let reading = Reading { mirror: control.mirror().await, freshness: Arc::clone(&freshness) };
    let publishing =
        tokio::task::spawn_local(freshness::publish(Rc::clone(&control), Arc::clone(&freshness), measurements));
    let counting = tokio::task::spawn_local(freshness::count(Rc::clone(&control), freshness));
    // Without a receiver, the management plane has ended already.
    let _without_receiver = mirror.send(Some(reading));
    let places = Arc::new(Semaphore::new(CONCURRENT_REQUESTS));
    while let Some(Work(work)) = queue.recv().await {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let control = Rc::clone(&control);
        tokio::task::spawn_local(async move {
            work(control).await;
            drop(place);
        });
    }
    let all = u32::try_from(CONCURRENT_REQUESTS).unwrap_or(u32::MAX);
    let _never_closed = places.acquire_many(all).await;
    answering.abort();
    publishing.abort();
    counting.abort();
}
