//! Present facts, on the thread that owns the array.

use super::{Facts, PoolFacts};
use crate::control::Control;
use crate::directory::Directory;
use crate::events::Event;
use crate::events::view::{AlertView, EventFilter};
use crate::jobs::view::JobView;
use crate::live::{ConnectionCounters, LoginAttempt, OffloadRow, Portal, SessionInfo, UnitFacts};
use crate::samples::ring::Samples;
use crate::scrape::totals::Totals;
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo};
use std::cell::{OnceCell, Ref};
use std::sync::Arc;
use unit::LogEntry;

/// Present state of the array, on the thread that owns it.
pub(crate) struct Now<'a> {
    control: &'a Control,
    directory: Ref<'a, Directory>,
    portals: Vec<Portal>,
    sessions: OnceCell<Vec<SessionInfo>>,
    held: OnceCell<qos::Report>,
}

impl Control {
    /// Calls `look` with the present state of the array.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&dyn Facts) -> T) -> T {
        look(&Now {
            control: self,
            directory: self.directory(),
            portals: self.live().portals(),
            sessions: OnceCell::new(),
            held: OnceCell::new(),
        })
    }
}

impl Facts for Now<'_> {
    fn directory(&self) -> &Directory {
        &self.directory
    }

    fn started(&self) -> Timestamp {
        self.control.started()
    }

    fn now(&self) -> Timestamp {
        self.control.environment().now()
    }

    fn portals(&self) -> &[Portal] {
        &self.portals
    }

    fn nfs_portals(&self) -> Vec<String> {
        self.control.live().nfs_portals()
    }

    fn object(&self, id: ObjectId) -> Option<ObjectInfo> {
        self.control.catalog().object(id)
    }

    fn unique_bytes(&self, objects: &[ObjectId]) -> Option<u64> {
        self.control.last_count(objects)
    }

    fn captures(&self) -> Vec<ObjectId> {
        self.control.captures()
    }

    fn pool(&self) -> PoolFacts {
        self.control.pool_facts()
    }

    fn pool_name(&self) -> &str {
        self.control.pool().name()
    }

    fn unit(&self, volume: ObjectId) -> UnitFacts {
        self.control.live().unit(volume)
    }

    fn deleted_offload(&self) -> Vec<OffloadRow> {
        self.control.live().deleted_offload()
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let directory = self.directory();
        directory.volumes().for_each(|volume| totals.add(false, &self.unit(volume.object)));
        directory.shares().for_each(|share| totals.add(true, &self.unit(share.object)));
        totals.held.add_all(self.held());
        totals
    }

    fn refusals(&self, since: u64) -> Vec<LogEntry> {
        self.control.live().refusals(since)
    }

    fn sessions(&self) -> &[SessionInfo] {
        self.sessions.get_or_init(|| self.control.live().sessions())
    }

    fn logins(&self) -> Vec<Arc<LoginAttempt>> {
        self.control.live().logins()
    }

    fn connections(&self) -> ConnectionCounters {
        self.control.live().connections()
    }

    fn held(&self) -> &qos::Report {
        self.held.get_or_init(|| self.control.live().held())
    }

    fn jobs(&self) -> Vec<JobView> {
        self.control.job_views()
    }

    fn events(&self, since: Option<u64>, filter: &EventFilter, limit: usize) -> Vec<Arc<Event>> {
        self.control.events().list(since, filter, limit)
    }

    fn alerts(&self) -> Vec<AlertView> {
        self.control.alerts()
    }

    fn samples(&self) -> Option<&Samples> {
        None
    }
}
