//! Publication of changes to the mirror, on the owner's side.

use super::Mirror;
use super::attention::Attention;
use super::changes::ChangeLog;
use super::events::EventLog;
use super::publisher::Waiting;
use super::view::{Arrivals, Count, Deleted, Delta, View};
use crate::control::Control;
use crate::directory::Edit;
use crate::environment::yield_now;
use crate::events::view::EventFilter;
use crate::jobs::view::JobView;
use crate::samples::recorder::Recorder;
use pool::{ObjectId, ObjectKind, Revision};
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;
use uuid::Uuid;

/// Largest number of objects and units published in one turn of the thread.
const PER_TURN: usize = 256;
/// Number of counts of deleted objects that are always kept.
const LEAST_FORGOTTEN: usize = 64;
/// Longest time of counting before other tasks run.
const LONGEST_TURN: Duration = Duration::from_millis(1);

impl Control {
    /// Creates a copy of the present facts that is kept up to date from now on. There is only one:
    /// a second call disconnects the first.
    pub async fn mirror(&self) -> Mirror {
        let (to, deltas) = channel();
        let publisher = &self.publisher();
        publisher.jobs.borrow_mut().clear();
        publisher.alerts.borrow_mut().clear();
        let captures = self.captures();
        publisher.captures.replace(captures.clone());
        publisher.counts.borrow_mut().clear();
        publisher.waiting.borrow_mut().clear();
        publisher.last_event.set(0);
        let _listed_below = self.live().take_changed_refusals();
        publisher.connections.take();
        publisher.held.replace(self.live().held());
        let pool = self.pool_facts();
        publisher.pool.replace(Some(pool.clone()));
        let directory = self.directory().clone();
        let objects = directory.objects().filter_map(|id| Some((id, self.catalog().object(id)?))).collect();
        let volumes = directory.volumes().map(|volume| volume.object);
        let used = volumes.chain(directory.shares().map(|share| share.object));
        let units = used.map(|object| (object, self.live().unit(object))).collect();
        let view = View {
            directory,
            started: self.started(),
            at: self.environment().now(),
            portals: self.live().portals(),
            nfs_portals: self.live().nfs_portals(),
            pool,
            objects,
            changes: self.catalog().changes(),
            counts: BTreeMap::new(),
            captures,
            units,
            deleted: Deleted { offload: self.live().deleted_offload(), ..Deleted::default() },
            sessions: self.live().sessions(),
            arrivals: Arrivals { logins: self.live().logins(), connections: self.live().connections() },
            refusals: self.live().refusals(0).into(),
            attention: Attention::default(),
            events: EventLog::default(),
            held: publisher.held.borrow().clone(),
            recorder: Recorder::new(self.environment().now()),
            changes_made: ChangeLog::default(),
        };
        publisher.to.replace(Some(to));
        self.publish_facts().await;
        Mirror::new(view, deltas)
    }

    /// Sends the changes up to this call. The cost depends on their number; lets other tasks run if
    /// there are many. What changes during the call waits for the next one, so that the call ends
    /// however busy the hosts are.
    pub async fn publish_facts(&self) {
        if !self.publisher().is_connected() {
            return;
        }
        let mut left = self.list_changed();
        while left > PER_TURN {
            self.publish_some(PER_TURN);
            left -= PER_TURN;
            yield_now().await;
        }
        self.publish_some(left);
        self.publish_rest();
    }

    /// Lists the objects and units that changed. Returns the number of all that wait.
    fn list_changed(&self) -> usize {
        let objects = self.catalog().take_changed(usize::MAX);
        let units = self.live().take_used_units(usize::MAX);
        let mut waiting = self.publisher().waiting.borrow_mut();
        waiting.extend(objects.into_iter().map(Waiting::Object));
        waiting.extend(units.into_iter().map(Waiting::Unit));
        waiting.len()
    }

    pub(crate) fn publish_edit(&self, edit: &Edit) {
        if matches!(edit, Edit::Volume(_, None) | Edit::Share(_, None)) {
            self.publisher().content_deleted.set(true);
        }
        let mut deltas = vec![Delta::Edit(edit.clone())];
        // The change of the object may have been found before the directory had its document.
        let object = match edit {
            Edit::Volume(_, Some(volume)) => Some(volume.object),
            Edit::Share(_, Some(share)) => Some(share.object),
            Edit::Snapshot(_, Some(snapshot)) => Some(snapshot.object),
            _ => None,
        };
        deltas.extend(object.map(|id| Delta::Object(id, self.catalog().object(id))));
        self.publisher().send(deltas);
    }

    /// Sends the result of a count that began after these changes, or that counting failed.
    pub(crate) fn publish_count(&self, objects: &[ObjectId], changes: Revision) {
        if !self.publisher().is_connected() {
            return;
        }
        let count = Count { bytes: self.last_count(objects), changes };
        if self.publisher().counts.borrow_mut().insert(objects.to_vec(), count) != Some(count) {
            self.publisher().send(vec![Delta::Count(objects.to_vec(), count)]);
        }
    }

    /// Publishes at most `most` of the objects and units that wait. There may be fewer: another call may
    /// have published some.
    fn publish_some(&self, most: usize) {
        let mut waiting = self.publisher().waiting.borrow_mut();
        let turn: Vec<Waiting> = (0..most).map_while(|_| waiting.pop_front()).collect();
        drop(waiting);
        let mut captures = self.publisher().captures.borrow_mut();
        let mut deltas = Vec::with_capacity(turn.len());
        for changed in turn {
            let id = match changed {
                Waiting::Object(id) => id,
                Waiting::Unit(id) => {
                    deltas.push(Delta::Unit(id, Box::new(self.live().unit(id))));
                    continue;
                }
            };
            let info = self.catalog().object(id);
            let is_capture = info.is_some_and(|info| info.kind == ObjectKind::Capture);
            if is_capture != captures.contains(&id) {
                captures.retain(|other| *other != id);
                captures.extend(is_capture.then_some(id));
                captures.sort_unstable();
                deltas.push(Delta::Captures(captures.clone()));
            }
            // The mirror has no objects without a document.
            if info.is_none() || self.directory().has_object(id) {
                deltas.push(Delta::Object(id, info));
            }
        }
        self.publisher().send(deltas);
    }

    /// Publishes all other changes.
    fn publish_rest(&self) {
        let publisher = &self.publisher();
        let mut deltas = vec![Delta::At(self.environment().now(), self.catalog().changes())];
        let sessions = self.live().take_changed_sessions();
        deltas.extend(sessions.into_iter().map(|(id, session)| Delta::Session(id, session.map(Box::new))));
        deltas.extend(self.live().take_changed_logins().map(Delta::Logins));
        let connections = self.live().connections();
        if publisher.connections.replace(Some(connections)) != Some(connections) {
            deltas.push(Delta::Connections(connections));
        }
        if publisher.content_deleted.take() {
            deltas.push(Delta::DeletedOffload(self.live().deleted_offload()));
        }
        let refusals = self.live().take_changed_refusals();
        if !refusals.is_empty() {
            deltas.push(Delta::Refusals(refusals));
        }
        let pool = self.pool_facts();
        if publisher.pool.borrow().as_ref() != Some(&pool) {
            publisher.pool.replace(Some(pool.clone()));
            deltas.push(Delta::Pool(Box::new(pool)));
        }
        let held = self.live().held();
        if *publisher.held.borrow() != held {
            publisher.held.replace(held.clone());
            deltas.push(Delta::Held(held));
        }
        let alerts = self.alerts();
        if *publisher.alerts.borrow() != alerts {
            publisher.alerts.replace(alerts.clone());
            deltas.push(Delta::Alerts(alerts));
        }
        let jobs: BTreeMap<Uuid, JobView> = self.job_views().into_iter().map(|job| (job.id, job)).collect();
        let before = publisher.jobs.replace(jobs.clone());
        deltas.extend(before.keys().filter(|id| !jobs.contains_key(id)).map(|id| Delta::Job(*id, None)));
        let changed = jobs.into_iter().filter(|(id, job)| before.get(id) != Some(job));
        deltas.extend(changed.map(|(id, job)| Delta::Job(id, Some(Box::new(job)))));
        let events = self.events().list(Some(publisher.last_event.get()), &EventFilter::default(), usize::MAX);
        if let Some(last) = events.last() {
            publisher.last_event.set(last.id);
            deltas.push(Delta::Events(events));
        }
        publisher.send(deltas);
    }

    /// Counts the bytes that deleting each of these sets would free, if anything changed since its
    /// last count.
    pub async fn recount(&self, wanted: impl IntoIterator<Item = Vec<ObjectId>>) {
        let mut patience = self.patience();
        let mut began = self.environment().monotonic();
        self.forget_counts();
        for objects in wanted {
            let changes = self.catalog().changes();
            if self.publisher().counts.borrow().get(&objects).is_some_and(|count| count.changes == changes) {
                continue;
            }
            self.count(&objects, &mut patience).await;
            if self.environment().monotonic().saturating_sub(began) >= LONGEST_TURN {
                yield_now().await;
                began = self.environment().monotonic();
            }
        }
    }

    /// Drops counts of deleted objects once they are as many as the others.
    fn forget_counts(&self) {
        let directory = self.directory();
        let (volumes, snapshots) = (directory.volume_count() + directory.share_count(), directory.snapshot_count());
        drop(directory);
        let exists = |objects: &[ObjectId]| objects.iter().all(|object| self.catalog().object(*object).is_some());
        if self.forget_unique_counts(2 * (2 * volumes + snapshots) + LEAST_FORGOTTEN, exists) {
            self.publisher().counts.borrow_mut().retain(|objects, _| exists(objects));
        }
    }
}
