//! One stream: what its client knows, and what it gets next.

use super::holder::Holder;
use super::streams::Stream;
use super::topics::{Connecting, Topics};
use crate::http::convert;
use crate::http::problem::Fault;
use crate::laboratory::Laboratory;
use api::{LiveAlertEnded, LiveBye, LiveChange, LiveHello, LiveLagged};
use axum::response::sse::Event;
use control::{AlertView, ConnectShow, ControlError, JobState, JobView, Known, News, RecordChange, SampleView};
use jiff::Timestamp;
use reactor::ArrayHandle;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time after which a client connects again.
const RETRY: Duration = Duration::from_secs(2);
/// Time without taking anything after which the next that a client takes is the end.
const PATIENCE: Duration = Duration::from_secs(30);

/// State of a stream.
pub(super) struct Reader {
    array: ArrayHandle,
    stream: Stream,
    holder: Holder,
    samples: watch::Receiver<u64>,
    started: Timestamp,
    known: Known,
    last_sample: Option<Timestamp>,
    alerts: BTreeMap<(&'static str, String), AlertView>,
    laboratory: Option<Arc<Laboratory>>,
    /// What the client got last of the hosts and runs that it follows, by event and topic, as JSON.
    followed: BTreeMap<(&'static str, String), String>,
    /// Events of the present second that the client has not taken yet.
    waiting: VecDeque<Event>,
    has_ended: bool,
    /// Time at which the client took the last event.
    taken: Instant,
}

fn event(name: &str, data: &impl Serialize) -> Event {
    Event::default().event(name).data(json(data))
}

fn json(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_default()
}

impl Reader {
    /// Begins a stream after the event with the id `last`, or with what comes next.
    pub(super) async fn begin(
        array: ArrayHandle,
        stream: Stream,
        holder: Holder,
        laboratory: Option<Arc<Laboratory>>,
        last: Option<&str>,
    ) -> Result<Self, Fault> {
        let samples = array.samples();
        let mirror = array.mirror().await?;
        let (started, present) = mirror.known()?;
        let resumed = last.map(|last| read_id(last).filter(|(of, _)| *of == started.as_millisecond()));
        let known = resumed.flatten().map_or(present, |(_, known)| known);
        // All active alerts and running jobs are news; jobs that have ended are none.
        let News { jobs, known: Known { jobs: job_changes, .. }, .. } = mirror.news(Known { jobs: 0, ..present })?;
        let known = Known { jobs: job_changes, alerts: 0, ..known };
        let id = |known: Known| id(started, known);
        let hello = LiveHello {
            stream: stream.number,
            revision: known.revision,
            time: Timestamp::now(),
            version: crate::VERSION.to_owned(),
        };
        let mut waiting = VecDeque::from([event("hello", &hello).id(id(known)).retry(RETRY)]);
        if resumed == Some(None) {
            let lagged = LiveLagged { from: 0, revision: present.revision };
            waiting.push_back(event("lagged", &lagged).id(id(present)));
        }
        let is_running = |job: &JobView| job.state == JobState::Running;
        if stream.topics.borrow().jobs {
            let running = jobs.into_iter().filter(is_running);
            waiting.extend(running.map(|job| event("job", &convert::job(job))));
        }
        Ok(Self {
            array,
            stream,
            holder,
            samples,
            started,
            known,
            last_sample: None,
            alerts: BTreeMap::new(),
            laboratory,
            followed: BTreeMap::new(),
            waiting,
            has_ended: false,
            taken: Instant::now(),
        })
    }

    /// The next event; waits for it. `None` after the last one, and when the credentials have ended.
    pub(super) async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if self.taken.elapsed() > PATIENCE && !self.has_ended {
            self.end("too-slow");
        }
        loop {
            if !self.holder.stands() {
                return None;
            }
            if let Some(event) = self.waiting.pop_front() {
                self.taken = Instant::now();
                return Some((Ok(event), self));
            }
            if self.has_ended {
                return None;
            }
            let is_stopping = tokio::select! {
                sampled = self.samples.changed() => sampled.is_err(),
                _ = self.stream.stopping.wait_for(|stopping| *stopping) => true,
            };
            if is_stopping || self.gather().await.is_err() {
                self.end("stopping");
            }
        }
    }

    /// Leaves only the last event.
    fn end(&mut self, why: &str) {
        self.waiting = VecDeque::from([event("bye", &LiveBye { why: why.to_owned() })]);
        self.has_ended = true;
    }

    /// Puts what is new into `waiting`. Errors: `NotRunning` if the array has ended.
    async fn gather(&mut self) -> Result<(), ControlError> {
        let topics = self.stream.topics.borrow_and_update().clone();
        let mirror = self.array.mirror().await?;
        if topics.has_samples()
            && let Some(view) = mirror.read(&topics.sample())?
        {
            self.sample(&topics, view);
        }
        let mut followed = BTreeMap::new();
        for Connecting { host, volume } in &topics.hosts {
            // A host that does not exist has no state: its page says so.
            if let Ok(view) = mirror.read(&ConnectShow { host: host.clone(), volume: volume.clone() }) {
                let topic = format!("{host},{}", volume.as_deref().unwrap_or_default());
                followed.insert(("connect", topic), json(&convert::connect_state(view)));
            }
        }
        let News { known, changes, events, jobs, alerts, .. } = mirror.news(self.known)?;
        let has_missed = topics.changes && changes.is_none() || topics.events && events.is_none();
        let from = self.known.revision;
        if changes.is_none() {
            self.known.revision = known.revision;
        }
        if events.is_none() {
            self.known.event = known.event;
        }
        if has_missed {
            let lagged = LiveLagged { from, revision: self.known.revision };
            let id = self.id();
            self.waiting.push_back(event("lagged", &lagged).id(id));
        }
        self.changes(&topics, changes.unwrap_or_default());
        self.events(&topics, events.unwrap_or_default());
        self.jobs(&topics, jobs);
        self.alerts(&topics, alerts);
        for run in &topics.runs {
            if let Some(Ok(shown)) = self.laboratory.as_ref().map(|laboratory| laboratory.show(*run)) {
                followed.insert(("lab", run.to_string()), json(&shown));
            }
        }
        self.follow(followed);
        (self.known.jobs, self.known.alerts) = (known.jobs, if topics.alerts { known.alerts } else { 0 });
        Ok(())
    }

    /// Sends the states that differ from what the client got last.
    fn follow(&mut self, states: BTreeMap<(&'static str, String), String>) {
        let changed = states.iter().filter(|(topic, state)| self.followed.get(topic) != Some(state));
        let events: Vec<Event> =
            changed.map(|((name, _), state)| Event::default().event(*name).data(state.clone())).collect();
        self.waiting.extend(events);
        self.followed = states;
    }

    fn sample(&mut self, topics: &Topics, view: SampleView) {
        if self.last_sample.replace(view.sample.at) == Some(view.sample.at) {
            return;
        }
        let mut sample = convert::sample(view);
        sample.array = sample.array.filter(|_| topics.array);
        sample.busiest = sample.busiest.filter(|_| topics.busiest);
        if !topics.primitives {
            sample.primitives.clear();
        }
        self.waiting.push_back(event("sample", &sample));
    }

    fn events(&mut self, topics: &Topics, events: Vec<Arc<control::Event>>) {
        for found in events {
            self.known.event = found.id;
            if topics.events {
                let id = self.id();
                self.waiting.push_back(event("event", &convert::event(Arc::unwrap_or_clone(found))).id(id));
            }
        }
    }

    fn changes(&mut self, topics: &Topics, changes: Vec<RecordChange>) {
        for RecordChange { revision, kind, id, deleted } in changes {
            self.known.revision = revision;
            if topics.changes {
                let op = if deleted { "deleted" } else { "put" }.to_owned();
                let change = LiveChange { revision, kind: kind.to_owned(), id, op };
                let id = self.id();
                self.waiting.push_back(event("change", &change).id(id));
            }
        }
    }

    fn jobs(&mut self, topics: &Topics, jobs: Vec<JobView>) {
        let jobs = jobs.into_iter().filter(|_| topics.jobs);
        self.waiting.extend(jobs.map(|job| event("job", &convert::job(job))));
    }

    /// Announces alerts that are new or changed, and those that have ended. Without their topic they are
    /// forgotten, so that all are news when it comes back.
    fn alerts(&mut self, topics: &Topics, alerts: Option<Vec<AlertView>>) {
        if !topics.alerts {
            self.alerts.clear();
            return;
        }
        let Some(alerts) = alerts else { return };
        let alerts: BTreeMap<(&'static str, String), AlertView> =
            alerts.into_iter().map(|alert| ((alert.code, alert.subject.clone()), alert)).collect();
        let changed = alerts.iter().filter(|(key, alert)| self.alerts.get(key) != Some(alert));
        let mut events: Vec<Event> = changed.map(|(_, alert)| event("alert", &convert::alert(alert.clone()))).collect();
        let ended = self.alerts.keys().filter(|key| !alerts.contains_key(key));
        events.extend(ended.map(|(code, subject)| {
            event("alert-ended", &LiveAlertEnded { code: (*code).to_owned(), subject: subject.clone() })
        }));
        self.waiting.extend(events);
        self.alerts = alerts;
    }

    /// Id of an event: what the client knows with it.
    fn id(&self) -> String {
        id(self.started, self.known)
    }
}

fn id(started: Timestamp, known: Known) -> String {
    format!("{}.{}.{}", started.as_millisecond(), known.revision, known.event)
}

/// Reads an id: the start of the array in milliseconds, and what the client knows.
fn read_id(id: &str) -> Option<(i64, Known)> {
    let mut words = id.split('.');
    let (started, revision, event) = (words.next()?, words.next()?, words.next()?);
    let known = Known { revision: revision.parse().ok()?, event: event.parse().ok()?, ..Known::default() };
    words.next().is_none().then_some((started.parse().ok()?, known))
}
