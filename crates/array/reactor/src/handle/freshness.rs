//! Synchronization of the mirror: readers register their wait, and the reactor polls the
//! registrations many times a second without ever waiting for readers.
//!
//! For any number of readers, the reactor publishes changes at most once per [`TICK`] and uses at
//! most a fiftieth of its time for it.

use crate::measurements::Measurements;
use control::Control;
use pool::ObjectId;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

/// Interval at which the reactor polls the waiting readers.
const TICK: Duration = Duration::from_millis(20);
/// Largest age of the mirror, even without readers.
const MAX_AGE: Duration = Duration::from_secs(1);
/// Divisor of the share of time for publishing.
const PUBLISHING_SHARE: u32 = 50;
/// Divisor of the share of time for counting with pauses.
const COUNTING_SHARE: u32 = 20;
/// Largest number of counts between two pauses.
const COUNTS_PER_TURN: usize = 256;
/// Longest pause. A longer turn was not work of the reactor's thread but a wait for the medium.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Longest wait of a reader for the reactor.
const PATIENCE: Duration = Duration::from_millis(500);
/// Longest wait of a reader for counts.
const COUNT_PATIENCE: Duration = Duration::from_secs(2);
/// Time without a poll after which the reactor counts as stuck.
const STUCK: Duration = Duration::from_secs(5);

/// State shared by readers and the reactor.
#[derive(Debug)]
pub(super) struct Freshness {
    /// Number of reads that want an up-to-date mirror.
    asked: AtomicU64,
    /// Number of these reads for which the mirror is up to date.
    published: AtomicU64,
    /// Number of reads whose counts are finished: of [`Wanted::now`] and of [`Wanted::later`].
    counted: [AtomicU64; 2],
    wanted: Mutex<Wanted>,
    /// Notified after each change of the numbers above.
    news: Notify,
    started: Instant,
    /// Last poll by the reactor, in milliseconds since `started`.
    beat_ms: AtomicU64,
}

/// Counts that readers want.
#[derive(Debug, Default)]
struct Wanted {
    /// Counts to make at once.
    now: Batch,
    /// Counts to make with pauses.
    later: Batch,
}

#[derive(Debug, Default)]
struct Batch {
    /// Number of reads so far.
    asked: u64,
    objects: BTreeSet<Vec<ObjectId>>,
}

impl Batch {
    /// Takes at most `most` counts. Also returns the number of reads that these complete, or `None`
    /// if counts are left.
    fn take(&mut self, most: usize) -> (Vec<Vec<ObjectId>>, Option<u64>) {
        let taken = std::iter::from_fn(|| self.objects.pop_first()).take(most).collect();
        (taken, self.objects.is_empty().then_some(self.asked))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    Now,
    Later,
}

impl Default for Freshness {
    fn default() -> Self {
        Self {
            asked: AtomicU64::new(0),
            published: AtomicU64::new(0),
            counted: Default::default(),
            wanted: Mutex::default(),
            news: Notify::new(),
            started: Instant::now(),
            beat_ms: AtomicU64::new(0),
        }
    }
}

impl Freshness {
    /// Waits until the mirror includes everything acknowledged before the call, unless the reactor
    /// is late.
    pub async fn published(&self) {
        let ticket = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        let _late = timeout(PATIENCE, self.reached(&self.published, ticket)).await;
    }

    /// Requests counts, at once or with pauses. Ready when they are finished or late; immediately
    /// if many are to be made with pauses.
    pub async fn counted(&self, objects: Vec<Vec<ObjectId>>, at_once: bool) {
        let wait = at_once || objects.len() <= COUNTS_PER_TURN;
        let [now, later] = &self.counted;
        let (counter, ticket) = {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            let (batch, counter) = if at_once { (&mut wanted.now, now) } else { (&mut wanted.later, later) };
            batch.objects.extend(objects);
            batch.asked += 1;
            (counter, batch.asked)
        };
        if wait {
            let _late = timeout(COUNT_PATIENCE, self.reached(counter, ticket)).await;
        }
    }

    async fn reached(&self, counter: &AtomicU64, ticket: u64) {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            if counter.load(Ordering::Acquire) >= ticket {
                return;
            }
            news.await;
        }
    }

    /// True if the reactor has not polled for a while.
    pub fn is_stuck(&self) -> bool {
        let beat = Duration::from_millis(self.beat_ms.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(beat) > STUCK
    }

    /// State in which the reactor has not polled for long.
    #[cfg(test)]
    pub fn stuck() -> Self {
        let long = STUCK * 2;
        Self { started: Instant::now().checked_sub(long).unwrap_or_else(Instant::now), ..Self::default() }
    }

    fn beat(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.beat_ms.store(now, Ordering::Relaxed);
    }

    /// Takes the counts to make at once, or else some of the others. The reactor does not wait for
    /// a reader that holds the lock.
    fn take_wanted(&self) -> Option<(Urgency, Vec<Vec<ObjectId>>, Option<u64>)> {
        let mut wanted = self.wanted.try_lock().ok()?;
        let urgency = if wanted.now.objects.is_empty() { Urgency::Later } else { Urgency::Now };
        let (taken, answered) = match urgency {
            Urgency::Now => wanted.now.take(usize::MAX),
            Urgency::Later => wanted.later.take(COUNTS_PER_TURN),
        };
        (!taken.is_empty()).then_some((urgency, taken, answered))
    }
}

/// Keeps the mirror up to date on the reactor's thread. Also notes the processor time of this thread,
/// so that a sample has that of its own second.
pub(super) async fn publish(control: Rc<Control>, freshness: Arc<Freshness>, measurements: Arc<Measurements>) {
    let mut published = Instant::now();
    let mut pause = TICK;
    loop {
        sleep(pause).await;
        pause = TICK;
        freshness.beat();
        let asked = freshness.asked.load(Ordering::Acquire);
        if asked == freshness.published.load(Ordering::Relaxed) && published.elapsed() < MAX_AGE {
            continue;
        }
        let began = Instant::now();
        control.publish_facts().await;
        measurements.loads.note(0);
        published = Instant::now();
        pause = TICK.max((published - began) * PUBLISHING_SHARE).min(MAX_AGE);
        freshness.published.store(asked, Ordering::Release);
        freshness.news.notify_waiters();
    }
}

/// Makes the requested counts on the reactor's thread.
pub(super) async fn count(control: Rc<Control>, freshness: Arc<Freshness>) {
    let mut pause = TICK;
    loop {
        sleep(pause).await;
        pause = TICK;
        let Some((urgency, objects, answered)) = freshness.take_wanted() else { continue };
        let began = Instant::now();
        control.recount(objects).await;
        let [now, later] = &freshness.counted;
        let counter = match urgency {
            Urgency::Now => now,
            Urgency::Later => {
                // The pause also delays counts requested at once meanwhile, by no more than one
                // pause.
                pause = TICK.max(began.elapsed() * (COUNTING_SHARE - 1)).min(LONGEST_PAUSE);
                later
            }
        };
        if let Some(answered) = answered {
            counter.store(answered, Ordering::Release);
            freshness.news.notify_waiters();
        }
    }
}
