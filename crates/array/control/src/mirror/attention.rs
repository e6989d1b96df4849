//! Jobs and alerts, with the numbers of their last changes, for readers that follow them.

use crate::events::view::AlertView;
use crate::jobs::view::JobView;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Jobs and alerts. A number belongs to one change; later ones are larger, and the first is 1.
#[derive(Debug, Default)]
pub(super) struct Attention {
    last: u64,
    jobs: BTreeMap<Uuid, (u64, JobView)>,
    alerts: Vec<AlertView>,
    alerts_changed: u64,
}

impl Attention {
    /// Number of the last change; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Notes a job as it is; `None` if it is not known any more.
    pub fn set_job(&mut self, id: Uuid, job: Option<JobView>) {
        self.last += 1;
        match job {
            Some(job) => drop(self.jobs.insert(id, (self.last, job))),
            None => drop(self.jobs.remove(&id)),
        }
    }

    /// Notes all active alerts.
    pub fn set_alerts(&mut self, alerts: Vec<AlertView>) {
        self.last += 1;
        (self.alerts, self.alerts_changed) = (alerts, self.last);
    }

    /// Jobs in the order of their ids.
    pub fn jobs(&self) -> impl Iterator<Item = &JobView> {
        self.jobs.values().map(|(_, job)| job)
    }

    /// Active alerts, most severe first.
    pub fn alerts(&self) -> &[AlertView] {
        &self.alerts
    }

    /// Jobs that changed after this number, in the order of their ids.
    pub fn jobs_after(&self, number: u64) -> impl Iterator<Item = &JobView> {
        self.jobs.values().filter(move |(changed, _)| *changed > number).map(|(_, job)| job)
    }

    /// All active alerts; `None` if they have not changed after this number.
    pub fn alerts_after(&self, number: u64) -> Option<&[AlertView]> {
        (self.alerts_changed > number).then_some(&*self.alerts)
    }
}
