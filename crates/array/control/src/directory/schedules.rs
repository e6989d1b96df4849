//! Schedules in the directory.

use super::{Content, Directory, by_name};
use crate::condition::Noun;
use crate::error::ControlError;
use crate::schedules::record::ScheduleRecord;
use crate::snapshots::record::SnapshotRecord;
use crate::volumes::record::VolumeRecord;
use std::collections::BTreeMap;
use uuid::Uuid;

impl Directory {
    /// All schedules in order of creation.
    pub(crate) fn schedules(&self) -> impl Iterator<Item = &ScheduleRecord> {
        self.schedules.values()
    }

    /// Schedule with this id.
    pub(crate) fn schedule_by_id(&self, id: Uuid) -> Option<&ScheduleRecord> {
        self.schedules.get(&id)
    }

    /// Finds a schedule by name or id.
    pub(crate) fn schedule(&self, name: &str) -> Result<&ScheduleRecord, ControlError> {
        let named = |name: &str| self.schedules.values().find(|one| one.name == name).map(|one| one.id);
        by_name(&self.schedules, name, named)
            .ok_or_else(|| ControlError::NotFound { noun: Noun::Schedule, name: name.to_owned() })
    }

    /// Snapshots that a schedule took, in order of creation.
    pub(crate) fn snapshots_by(&self, schedule: Uuid) -> impl Iterator<Item = &SnapshotRecord> {
        self.index.taken_by(schedule).filter_map(|id| self.snapshots.get(&id))
    }

    /// Snapshots that schedules took, those of schedules that are deleted too.
    pub(crate) fn scheduled_snapshots(&self) -> impl Iterator<Item = &SnapshotRecord> {
        self.index.scheduled().filter_map(|id| self.snapshots.get(&id))
    }

    /// Members of a schedule that exist, by id: those by name, and the volumes with its label.
    pub(crate) fn members_of_schedule(&self, schedule: &ScheduleRecord) -> BTreeMap<Uuid, Content> {
        let by_name = schedule.members.iter().filter_map(|id| {
            let volume = self.volumes.get(id).map(Content::from);
            volume.or_else(|| self.shares.get(id).map(Content::from))
        });
        let labelled = self.volumes.values().filter(|volume| has_label(schedule, volume)).map(Content::from);
        by_name.chain(labelled).map(|member| (member.id, member)).collect()
    }

    /// Schedules that take snapshots of a volume if it has this document.
    pub(crate) fn schedules_of(&self, volume: &VolumeRecord) -> impl Iterator<Item = &ScheduleRecord> {
        let takes = |schedule: &&ScheduleRecord| schedule.members.contains(&volume.id) || has_label(schedule, volume);
        self.schedules().filter(takes)
    }

    /// True if a schedule takes snapshots of a volume or share: by name, or by the label of a volume.
    pub(crate) fn is_member(&self, schedule: &ScheduleRecord, id: Uuid) -> bool {
        let by_label = || self.volumes.get(&id).is_some_and(|volume| has_label(schedule, volume));
        schedule.members.contains(&id) || by_label()
    }
}

/// True if a volume has the label whose volumes a schedule takes.
fn has_label(schedule: &ScheduleRecord, volume: &VolumeRecord) -> bool {
    schedule.label.as_ref().is_some_and(|label| volume.labels.get(&label.key) == Some(&label.value))
}
