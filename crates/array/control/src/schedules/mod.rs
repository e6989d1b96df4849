//! Schedules: snapshots at certain times, and retention. This file lists and shows them; `edit.rs`
//! creates, changes and deletes them, `preview.rs` says what rules would do, `run.rs` takes the snapshots, `retire.rs`
//! removes old ones, `give_up.rs` those whose space hosts need.
//! `when.rs` and `keep.rs` have the rules of both, without a clock.

mod edit;
mod give_up;
pub(crate) mod keep;
pub(crate) mod part;
mod preview;
pub(crate) mod record;
mod retire;
mod run;
pub(crate) mod when;

pub use edit::{ScheduleCreate, ScheduleDelete, ScheduleSet};
pub use keep::Keep;
pub use preview::{Previewed, SchedulePreview, SchedulePreviewView};
pub use record::{Label, LastRun, RunRecord, ScheduleRecord};
pub use run::ScheduleRun;
pub use when::When;

use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column};
use crate::pools::count;
use crate::read::Read;
use uuid::Uuid;

/// Lists schedules by name.
#[derive(Clone, Debug, Default)]
pub struct ScheduleList;

/// Shows one schedule.
#[derive(Clone, Debug)]
pub struct ScheduleShow {
    /// Name or id.
    pub schedule: String,
}

/// Schedule with the names of its members.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleView {
    /// Document of the schedule.
    pub record: ScheduleRecord,
    /// Names of the volumes and shares that are members by name, in order.
    pub names: Vec<String>,
    /// Number of all members.
    pub members: u64,
    /// Number of its snapshots.
    pub snapshots: u64,
}

impl Read for ScheduleList {
    type Reply = Vec<ScheduleView>;
    const NAME: &'static str = "schedule-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<ScheduleView>, ControlError> {
        self.all(facts)
    }
}

fn record<'a>(facts: &'a dyn Facts, id: &Uuid) -> Option<&'a ScheduleRecord> {
    facts.directory().schedule_by_id(*id)
}

impl Listed for ScheduleList {
    type View = ScheduleView;
    type Row = Uuid;
    const COLUMNS: &'static [Column<Uuid>] = &[
        column("name", |facts, id| record(facts, id).map(|schedule| schedule.name.as_str()).into()),
        column("next", |facts, id| record(facts, id).map(|schedule| schedule.next).into()),
        column("created", |facts, id| record(facts, id).map(|schedule| schedule.created).into()),
    ];

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Uuid)>, ControlError> {
        let schedules = facts.directory().schedules();
        let mut rows: Vec<(String, Uuid)> = schedules.map(|schedule| (schedule.name.clone(), schedule.id)).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, id: &Uuid) -> Vec<String> {
        record(facts, id).map(|schedule| vec![schedule.name.clone()]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Uuid>) -> Vec<ScheduleView> {
        rows.iter().filter_map(|id| record(facts, id)).map(|record| facts.schedule_view(record)).collect()
    }
}

impl Read for ScheduleShow {
    type Reply = ScheduleView;
    const NAME: &'static str = "schedule-show";

    fn answer(&self, facts: &dyn Facts) -> Result<ScheduleView, ControlError> {
        Ok(facts.schedule_view(facts.directory().schedule(&self.schedule)?))
    }
}

impl dyn Facts + '_ {
    /// View of a schedule.
    pub(crate) fn schedule_view(&self, record: &ScheduleRecord) -> ScheduleView {
        let directory = self.directory();
        let names = record.members.iter().filter_map(|member| directory.content_name(*member));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        ScheduleView {
            names,
            members: count(directory.members_of_schedule(record).len()),
            snapshots: count(directory.snapshots_by(record.id).count()),
            record: record.clone(),
        }
    }
}
