//! Copy of the facts, and its changes.

use super::attention::Attention;
use super::changes::ChangeLog;
use super::events::EventLog;
use crate::directory::{Directory, Edit};
use crate::events::Event;
use crate::events::view::{AlertView, EventFilter};
use crate::facts::{Facts, PoolFacts};
use crate::jobs::view::JobView;
use crate::live::{ConnectionCounters, LoginAttempt, OffloadRow, Portal, SessionInfo, UnitFacts};
use crate::samples::recorder::Recorder;
use crate::samples::ring::Samples;
use crate::scrape::totals::Totals;
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo, Revision};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use unit::LogEntry;
use uuid::Uuid;

/// Largest number of refused commands in the copy.
pub(super) const MAX_REFUSALS: usize = 10_000;

/// Change of the copy. `None` removes.
#[derive(Debug)]
pub(super) enum Delta {
    /// Time of the facts, and [`pool::Catalog::changes`].
    At(Timestamp, Revision),
    Edit(Edit),
    Object(ObjectId, Option<ObjectInfo>),
    Count(Vec<ObjectId>, Count),
    Captures(Vec<ObjectId>),
    Pool(Box<PoolFacts>),
    Unit(ObjectId, Box<UnitFacts>),
    DeletedOffload(Vec<OffloadRow>),
    Session(u64, Option<Box<SessionInfo>>),
    Logins(Vec<Arc<LoginAttempt>>),
    Connections(ConnectionCounters),
    Held(qos::Report),
    /// Refusals from one on, in place of all from its number on.
    Refusals(Vec<LogEntry>),
    Job(Uuid, Option<Box<JobView>>),
    Alerts(Vec<AlertView>),
    Events(Vec<Arc<Event>>),
}

/// Bytes that deleting a set of objects would free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Absent if not counted yet or not countable.
    pub bytes: Option<u64>,
    /// [`pool::Catalog::changes`] at the start of the count.
    pub changes: Revision,
}

/// How hosts arrive.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Last login attempts, oldest first.
    pub logins: Vec<Arc<LoginAttempt>>,
    pub connections: ConnectionCounters,
}

/// Statistics of deleted volumes and shares.
#[derive(Default)]
pub(super) struct Deleted {
    /// Rows of those that were deleted lately.
    pub offload: Vec<OffloadRow>,
    pub totals: Totals,
}

/// Copy of the facts.
pub(super) struct View {
    pub directory: Directory,
    pub started: Timestamp,
    pub at: Timestamp,
    pub portals: Vec<Portal>,
    pub nfs_portals: Vec<String>,
    pub pool: PoolFacts,
    /// Objects of volumes, shares and snapshots; the pool may have many more.
    pub objects: BTreeMap<ObjectId, ObjectInfo>,
    /// [`pool::Catalog::changes`] at the last publication.
    pub changes: Revision,
    pub counts: BTreeMap<Vec<ObjectId>, Count>,
    pub captures: Vec<ObjectId>,
    pub units: BTreeMap<ObjectId, UnitFacts>,
    pub deleted: Deleted,
    /// Sessions by number.
    pub sessions: Vec<SessionInfo>,
    pub arrivals: Arrivals,
    pub refusals: VecDeque<LogEntry>,
    pub attention: Attention,
    pub events: EventLog,
    pub held: qos::Report,
    pub recorder: Recorder,
    pub changes_made: ChangeLog,
}

impl View {
    pub fn apply(&mut self, delta: Delta) {
        match delta {
            Delta::At(at, changes) => (self.at, self.changes) = (at, changes),
            Delta::Edit(edit) => self.edit(edit),
            Delta::Object(id, Some(info)) => drop(self.objects.insert(id, info)),
            Delta::Object(id, None) => {
                self.objects.remove(&id);
                // What a volume did is counted among the deleted ones when the directory learns of its end.
                if self.directory.name_of(id).is_none() {
                    self.units.remove(&id);
                }
                self.counts.retain(|objects, _| !objects.contains(&id));
            }
            Delta::Count(objects, count) => drop(self.counts.insert(objects, count)),
            Delta::Captures(captures) => self.captures = captures,
            Delta::Pool(pool) => self.pool = *pool,
            Delta::Unit(id, unit) => {
                // A unit may have been used just before its volume or share was deleted.
                if self.directory.name_of(id).is_some() {
                    let is_share = self.directory.share_of(id).is_some();
                    self.recorder.note_unit(id, is_share, self.units.get(&id), &unit);
                    self.units.insert(id, *unit);
                }
            }
            Delta::Session(id, session) => {
                if let Some(after) = &session {
                    let known = self.sessions.binary_search_by_key(&id, |session| session.id).ok();
                    self.recorder.note_session(known.and_then(|at| self.sessions.get(at)), after);
                }
                match (self.sessions.binary_search_by_key(&id, |session| session.id), session) {
                    (Ok(at), Some(session)) => {
                        if let Some(known) = self.sessions.get_mut(at) {
                            *known = *session;
                        }
                    }
                    (Ok(at), None) => drop(self.sessions.remove(at)),
                    (Err(at), Some(session)) => self.sessions.insert(at, *session),
                    (Err(_), None) => {}
                }
            }
            Delta::DeletedOffload(rows) => self.deleted.offload = rows,
            Delta::Logins(logins) => self.arrivals.logins = logins,
            Delta::Connections(connections) => self.arrivals.connections = connections,
            Delta::Held(report) => {
                let before = std::mem::replace(&mut self.held, report);
                self.deleted.totals.held.add_ended(&before, &self.held);
            }
            Delta::Refusals(refusals) => {
                let known = self.refusals.back().map(|entry| entry.sequence);
                let is_new = |entry: &LogEntry| known.is_none_or(|known| entry.sequence > known);
                let (new, grown): (Vec<_>, Vec<_>) = refusals.into_iter().partition(is_new);
                for entry in grown {
                    let at = self.refusals.partition_point(|other| other.sequence < entry.sequence);
                    if let Some(before) = self.refusals.get_mut(at).filter(|other| other.sequence == entry.sequence) {
                        *before = entry;
                    }
                }
                keep(&mut self.refusals, new, MAX_REFUSALS);
            }
            Delta::Job(id, job) => self.attention.set_job(id, job.map(|job| *job)),
            Delta::Alerts(alerts) => self.attention.set_alerts(alerts),
            Delta::Events(events) => self.events.extend(events),
        }
    }

    /// Adds a sample of what hosts did since the last one.
    pub fn sample(&mut self, processor_ns: u64) {
        let counters = self.units.values().filter_map(|unit| unit.counters.as_ref());
        let queue_depth = counters.map(|counters| counters.queue_depth).fold(0, u64::saturating_add);
        self.recorder.sample(self.at, queue_depth, processor_ns);
    }

    fn edit(&mut self, edit: Edit) {
        let (before, after) = match &edit {
            Edit::Volume(id, after) => {
                let before = self.directory.volume_by_id(*id).map(|volume| volume.object);
                (before, after.as_ref().map(|volume| volume.object))
            }
            Edit::Share(id, after) => {
                let before = self.directory.share_by_id(*id).map(|share| share.object);
                (before, after.as_ref().map(|share| share.object))
            }
            _ => (None, None),
        };
        if let Some(object) = before.filter(|object| after != Some(*object))
            && let Some(unit) = self.units.remove(&object)
        {
            self.deleted.totals.add_deleted(matches!(edit, Edit::Share(..)), &unit);
        }
        self.changes_made.note(&edit, self.directory.revision() + 1);
        self.directory.apply(edit);
    }
}

/// Appends to a list that keeps its newest elements.
fn keep<T>(list: &mut VecDeque<T>, new: Vec<T>, most: usize) {
    list.extend(new);
    let surplus = list.len().saturating_sub(most);
    list.drain(..surplus);
}

impl Facts for View {
    fn directory(&self) -> &Directory {
        &self.directory
    }

    fn started(&self) -> Timestamp {
        self.started
    }

    fn now(&self) -> Timestamp {
        self.at
    }

    fn portals(&self) -> &[Portal] {
        &self.portals
    }

    fn nfs_portals(&self) -> Vec<String> {
        self.nfs_portals.clone()
    }

    fn object(&self, id: ObjectId) -> Option<ObjectInfo> {
        self.objects.get(&id).copied()
    }

    fn unique_bytes(&self, objects: &[ObjectId]) -> Option<u64> {
        self.counts.get(objects)?.bytes
    }

    fn captures(&self) -> Vec<ObjectId> {
        self.captures.clone()
    }

    fn pool(&self) -> PoolFacts {
        self.pool.clone()
    }

    fn pool_name(&self) -> &str {
        &self.pool.name
    }

    fn unit(&self, volume: ObjectId) -> UnitFacts {
        self.units.get(&volume).cloned().unwrap_or_default()
    }

    fn deleted_offload(&self) -> Vec<OffloadRow> {
        self.deleted.offload.clone()
    }

    fn totals(&self) -> Totals {
        let mut totals = self.deleted.totals.clone();
        for (object, unit) in &self.units {
            totals.add(self.directory.share_of(*object).is_some(), unit);
        }
        totals.held.add_all(&self.held);
        totals
    }

    fn refusals(&self, since: u64) -> Vec<LogEntry> {
        let first = self.refusals.partition_point(|entry| entry.sequence < since);
        self.refusals.range(first..).cloned().collect()
    }

    fn sessions(&self) -> &[SessionInfo] {
        &self.sessions
    }

    fn logins(&self) -> Vec<Arc<LoginAttempt>> {
        self.arrivals.logins.clone()
    }

    fn connections(&self) -> ConnectionCounters {
        self.arrivals.connections
    }

    fn held(&self) -> &qos::Report {
        &self.held
    }

    fn jobs(&self) -> Vec<JobView> {
        self.attention.jobs().cloned().collect()
    }

    fn events(&self, since: Option<u64>, filter: &EventFilter, limit: usize) -> Vec<Arc<Event>> {
        self.events.select(since, filter, limit)
    }

    fn alerts(&self) -> Vec<AlertView> {
        self.attention.alerts().to_vec()
    }

    fn samples(&self) -> Option<&Samples> {
        Some(self.recorder.samples())
    }
}
