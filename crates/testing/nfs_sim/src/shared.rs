//! What all parts of a run share: virtual time, the generator, the events to come, counters, the story, the failure.

use bytes::Bytes;
use random::Random;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Lease of the server's clients.
pub(crate) const LEASE: Duration = Duration::from_secs(5);
/// Slack of checks that depend on when the server took a call: calls take part of a second at most.
pub(crate) const SLACK: Duration = Duration::from_secs(2);

/// Incarnation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Incarnation {
    pub client: usize,
    /// Number among the incarnations of the client.
    pub number: u32,
}

/// Something that happens at an instant.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A record of a client reaches the server.
    ToServer { from: Incarnation, connection: u64, record: Bytes },
    /// A record of a run of the server reaches a client.
    ToClient { client: usize, run: u32, record: Bytes },
    /// The server learns that a connection is closed.
    Closed { connection: u64 },
    /// A call of a run goes on.
    Poll { run: u32, task: u64 },
    /// Changes of the records of clients are durable, up to a number.
    Durable { run: u32, change: u64 },
    /// A run does what is due by time.
    Tick { run: u32 },
    /// A client does what is due.
    Wake { client: usize },
    /// Something fails.
    Fault,
    /// A run of the server crashes.
    Crash { run: u32 },
    /// The server starts.
    Start,
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Calls, without repetitions.
    pub calls: u64,
    /// Replies that were awaited.
    pub replies: u64,
    /// Records that the network lost.
    pub lost: u64,
    /// Records that the network delivered twice.
    pub duplicated: u64,
    /// Starts of the server.
    pub starts: u64,
    /// Restarts of clients.
    pub reboots: u64,
    /// Opens and locks that were granted.
    pub grants: u64,
    /// Opens and locks that were denied.
    pub denials: u64,
    /// Opens and locks that were reclaimed.
    pub reclaims: u64,
    /// Opens that clients learned to have lost.
    pub revoked: u64,
    /// Hash of all events: equal for runs that are equal.
    pub history: u64,
}

impl Report {
    /// Adds the counters of another run.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.replies += other.replies;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.starts += other.starts;
        self.reboots += other.reboots;
        self.grants += other.grants;
        self.denials += other.denials;
        self.reclaims += other.reclaims;
        self.revoked += other.revoked;
        self.history = self.history.wrapping_add(other.history);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, replies, lost, duplicated, starts, reboots, .. } = self;
        let Self { grants, denials, reclaims, revoked, history, .. } = self;
        write!(to, "{calls} calls ({replies} answered, {lost} records lost, {duplicated} twice), {starts} starts, ")?;
        write!(to, "{reboots} restarts of clients, {grants} grants, {denials} denials, {reclaims} reclaims, ")?;
        write!(to, "{revoked} opens lost, history {history:016x}")
    }
}

/// What all parts share.
pub(crate) struct Shared {
    pub random: Random,
    pub report: Report,
    now: Duration,
    events: BTreeMap<(Duration, u64), Event>,
    numbers: u64,
    story: Option<Vec<String>>,
    failure: Option<String>,
    calm: bool,
}

impl Shared {
    pub fn new(seed: u64, story: bool) -> Self {
        Self {
            random: Random::new(seed),
            report: Report::default(),
            now: Duration::ZERO,
            events: BTreeMap::new(),
            numbers: 0,
            story: story.then(Vec::new),
            failure: None,
            calm: false,
        }
    }

    pub const fn now(&self) -> Duration {
        self.now
    }

    /// Whether nothing fails any more.
    pub const fn is_calm(&self) -> bool {
        self.calm
    }
    pub fn calm_down(&mut self) {
        self.calm = true;
    }

    /// A number that was not used before.
    pub const fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Plans an event.
    pub fn after(&mut self, delay: Duration, event: Event) {
        let key = (self.now + delay, self.number());
        self.events.insert(key, event);
    }

    /// Takes the next event, and makes its instant the present one.
    pub fn next(&mut self) -> Option<Event> {
        let ((at, _), event) = self.events.pop_first()?;
        self.now = at;
        Some(event)
    }

    /// A random time below a bound.
    pub fn within(&self, most: Duration) -> Duration {
        Duration::from_micros(self.random.below(u64::try_from(most.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Sends a record over a network that loses, duplicates, delays and reorders.
    pub fn send(&mut self, event: Event) {
        if self.calm {
            let delay = self.within(Duration::from_millis(3));
            return self.after(delay, event);
        }
        if self.random.chance(5) {
            self.report.lost += 1;
            return;
        }
        let copies = if self.random.chance(5) { 2 } else { 1 };
        self.report.duplicated += copies - 1;
        for _ in 0..copies {
            let most = if self.random.chance(5) { Duration::from_secs(4) } else { Duration::from_millis(20) };
            let delay = self.within(most);
            self.after(delay, event.clone());
        }
    }

    /// Notes a line of the story, and its part of the history.
    pub fn tell(&mut self, line: fmt::Arguments<'_>) {
        let line = line.to_string();
        let time = u64::try_from(self.now.as_micros()).unwrap_or(u64::MAX);
        let mut history = random::combine(self.report.history, time);
        for byte in line.bytes() {
            history = random::combine(history, u64::from(byte));
        }
        self.report.history = history;
        if let Some(story) = &mut self.story {
            story.push(format!("{:>10.4} {line}", self.now.as_secs_f64()));
        }
    }

    /// Notes the violation of a property. The first one ends the run.
    pub fn fail(&mut self, why: fmt::Arguments<'_>) {
        self.tell(format_args!("VIOLATION: {why}"));
        self.failure.get_or_insert_with(|| format!("at {:.4} s: {why}", self.now.as_secs_f64()));
    }

    pub const fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Result: counters, failure and story.
    pub fn end(self) -> (Report, Option<String>, Vec<String>) {
        (self.report, self.failure, self.story.unwrap_or_default())
    }
}
