//! `volume set`, `grow` and `rename`: changes of a volume, all or none.

use super::{Reserve, check_labels, check_size, wanted_reservation};
use crate::condition::Noun;
use crate::control::Control;
use crate::directory::Directory;
use crate::effect::{BrokenKind, Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::qos::{policy_in_words, wanted_policy};
use crate::record::Document;
use crate::request::Request;
use crate::volumes::VolumeView;
use crate::volumes::error::VolumeError;
use crate::volumes::record::VolumeRecord;
use pool::{CatalogChange, ObjectInfo, Reservation};
use std::collections::{BTreeMap, BTreeSet};

/// Changes a volume; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct VolumeSet {
    /// Name or id.
    pub volume: String,
    /// New name.
    pub name: Option<String>,
    /// New size, not smaller than the present one.
    pub size_bytes: Option<u64>,
    /// Write cache on or off.
    pub write_cache: Option<bool>,
    /// Thick or thin.
    pub reserve: Option<Reserve>,
    /// As in `VolumeCreate`.
    pub overwrite_reserve_percent: Option<u8>,
    /// Zero detection on or off.
    pub zero_detection: Option<bool>,
    /// Percentage of its size whose mapping raises an event; `Some(None)`: none.
    pub warn_percent: Option<Option<u8>>,
    /// Percentage of its size whose mapping raises a critical event; above `warn_percent`.
    pub critical_percent: Option<Option<u8>>,
    /// Labels to set, and, without a value, to remove.
    pub labels: BTreeMap<String, Option<String>>,
    /// QoS policy by name or id; `Some(None)`: none.
    pub policy: Option<Option<String>>,
}

impl Request for VolumeSet {
    type Reply = VolumeView;
    const NAME: &'static str = "volume-set";

    async fn run(&self, control: &Control) -> Result<VolumeView, ControlError> {
        self.check_thresholds()?;
        count_before_promising(control, self).await?;
        let _changes = control.lock_changes().await;
        let Plan { record, present, changes, published, .. } = self.plan(control)?;
        if !changes.is_empty() {
            control.commit(changes, vec![record.clone().into()], &published).await?;
        }
        let mut view = control.show_volume(record).await?;
        if view.object.size_bytes > present.size_bytes {
            view.warnings = control.space_warnings();
        }
        Ok(view)
    }

    fn event(&self, view: &VolumeView) -> Option<Draft> {
        let message = format!("volume {} changed: {}", self.volume, self.changes().join(", "));
        Some(Draft::info("volume-changed", &view.record.name, message))
    }
}

impl Rehearsed for VolumeSet {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        self.check_thresholds()?;
        let Plan { record, present, size_bytes, reservation, .. } = self.plan(control)?;
        let name = &record.name;
        let mut rehearsal = Rehearsal::default();
        if size_bytes > present.size_bytes {
            let (before, after) = (text::size::exact(present.size_bytes), text::size::exact(size_bytes));
            let message = format!("volume {name} grows from {before} to {after}, and cannot shrink again");
            rehearsal = rehearsal.warns("size-changed", message).warns_all(control.space_warnings());
        }
        if self.write_cache == Some(true) && !present.write_cache {
            let message = "what hosts have written since their last flush is lost when the array stops without warning";
            rehearsal = rehearsal.warns("write-cache-on", message);
        }
        if reservation.is_none() && present.reservation.is_some() {
            let message = format!("no space is kept for volume {name} any more: its writes fail when the pool is full");
            rehearsal = rehearsal.warns("promise-ends", message);
        }
        let promises = size_bytes > present.size_bytes || reservation != present.reservation;
        let needed = size_bytes.saturating_sub(present.mapped_bytes);
        let available = control.catalog().space().available_bytes(present.promised_bytes);
        if reservation.is_some() && promises && needed > available {
            let (needed, available) = (text::size::exact(needed), text::size::exact(available));
            let message = format!("the space to keep for volume {name} is {needed}, and {available} are available");
            rehearsal = rehearsal.warns("no-space-to-keep", message);
        }
        Ok(rehearse_schedules(&control.directory(), &record, rehearsal))
    }
}

/// Adds the schedules whose label the volume loses or gets by a change.
fn rehearse_schedules(directory: &Directory, after: &VolumeRecord, mut rehearsal: Rehearsal) -> Rehearsal {
    let Some(before) = directory.volume_by_id(after.id) else { return rehearsal };
    let ids = |volume| directory.schedules_of(volume).map(|schedule| schedule.id).collect::<BTreeSet<_>>();
    let (of_before, of_after) = (ids(before), ids(after));
    for schedule in directory.schedules_of(before).filter(|schedule| !of_after.contains(&schedule.id)) {
        let why = format!("it takes no more snapshots of volume {}: it no longer has the label", after.name);
        rehearsal = rehearsal.breaks(BrokenKind::Schedule, schedule.name.clone(), why);
    }
    for schedule in directory.schedules_of(after).filter(|schedule| !of_before.contains(&schedule.id)) {
        let message = if schedule.paused {
            format!("schedule {} takes snapshots of volume {} too, once it is resumed", schedule.name, after.name)
        } else {
            format!("schedule {} takes snapshots of volume {} too, from its next run on", schedule.name, after.name)
        };
        rehearsal = rehearsal.warns("schedule-joined", message);
    }
    rehearsal
}

/// A change that is possible.
struct Plan {
    /// The volume after the change.
    record: VolumeRecord,
    /// Its object before.
    present: ObjectInfo,
    /// Size after the change.
    size_bytes: u64,
    /// Reservation after the change.
    reservation: Option<Reservation>,
    changes: Vec<CatalogChange>,
    published: Vec<Change>,
}

impl VolumeSet {
    /// Checks the change, but for its thresholds and for the space that the pool has, and plans it.
    fn plan(&self, control: &Control) -> Result<Plan, ControlError> {
        let mut record = control.directory().volume(&self.volume)?.clone();
        let present = control.object(record.object)?;
        let object = record.object;
        let (mut changes, mut published) = (Vec::new(), Vec::new());
        if let Some(name) = self.name.clone().filter(|name| *name != record.name) {
            check_name(Noun::Volume, &name)?;
            control.directory().check_name_free(&name)?;
            record.name = name;
            published.push(Change::VolumeRenamed { object });
        }
        if self.set_thresholds(&mut record)? {
            published.push(Change::ThresholdsChanged { object: Some(object) });
        }
        self.set_labels(&mut record)?;
        record.policy = wanted_policy(&control.directory(), record.policy, self.policy.as_ref())?;
        if control.directory().volume_by_id(record.id) != Some(&record) {
            changes.push(record.put()?);
        }
        let size_bytes = self.size_bytes.unwrap_or(present.size_bytes);
        if size_bytes != present.size_bytes {
            check_size(size_bytes)?;
            if size_bytes < present.size_bytes {
                let (name, present_bytes) = (record.name, present.size_bytes);
                return Err(VolumeError::WouldShrink { name, size_bytes, present_bytes, parent: None }.into());
            }
            control.check_commitment(size_bytes - present.size_bytes)?;
            changes.push(CatalogChange::Resize { id: object, size_bytes });
            published.push(Change::VolumeResized { object, size_bytes });
        }
        if let Some(enabled) = self.write_cache.filter(|enabled| *enabled != present.write_cache) {
            changes.push(CatalogChange::SetWriteCache { id: object, enabled });
            published.push(Change::WriteCacheChanged { object, enabled });
        }
        let reservation =
            wanted_reservation(present.reservation, self.reserve, self.overwrite_reserve_percent, &record.name)?;
        if reservation != present.reservation {
            changes.push(CatalogChange::SetReservation { id: object, reservation });
        }
        if let Some(enabled) = self.zero_detection.filter(|enabled| *enabled != present.zero_detection) {
            changes.push(CatalogChange::SetZeroDetection { id: object, enabled });
        }
        Ok(Plan { record, present, size_bytes, reservation, changes, published })
    }

    /// Checks the range of the thresholds.
    fn check_thresholds(&self) -> Result<(), ControlError> {
        if [self.warn_percent, self.critical_percent].iter().any(|share| matches!(share, Some(Some(0 | 101..)))) {
            return Err(ControlError::InvalidSetting("a threshold is 1 to 100 percent, or off".to_owned()));
        }
        Ok(())
    }

    /// Changes the thresholds of a volume. Returns whether they differ from the present ones.
    fn set_thresholds(&self, record: &mut VolumeRecord) -> Result<bool, ControlError> {
        let before = (record.warn_percent, record.critical_percent);
        let now = (self.warn_percent.unwrap_or(before.0), self.critical_percent.unwrap_or(before.1));
        if let (Some(warn), Some(critical)) = now
            && warn >= critical
        {
            return Err(ControlError::InvalidSetting(format!(
                "volume {} cannot warn at {warn} % when it is critical at {critical} %: critical is above warn",
                record.name
            )));
        }
        (record.warn_percent, record.critical_percent) = now;
        Ok(now != before)
    }

    /// Changes the labels of a volume.
    fn set_labels(&self, record: &mut VolumeRecord) -> Result<(), ControlError> {
        for (key, value) in &self.labels {
            match value {
                Some(value) => record.labels.insert(key.clone(), value.clone()),
                None => record.labels.remove(key),
            };
        }
        check_labels(&record.labels)
    }

    /// Text of the changes.
    fn changes(&self) -> Vec<String> {
        let switch = |on| if on { "on" } else { "off" };
        let threshold = |name: &str, percent: Option<u8>| match percent {
            Some(percent) => format!("{name} at {percent} %"),
            None => format!("{name} off"),
        };
        let mut changes = Vec::new();
        changes.extend(self.name.as_ref().map(|name| format!("renamed to {name}")));
        changes.extend(self.size_bytes.map(|bytes| format!("size {}", text::size::format(bytes))));
        changes.extend(self.write_cache.map(|on| format!("write cache {}", switch(on))));
        changes.extend(self.reserve.map(|reserve| match reserve {
            Reserve::Thick => "thick".to_owned(),
            Reserve::Thin => "thin".to_owned(),
        }));
        changes.extend(self.overwrite_reserve_percent.map(|percent| format!("overwrite reserve {percent} %")));
        changes.extend(self.zero_detection.map(|on| format!("zero detection {}", switch(on))));
        changes.extend(self.warn_percent.map(|percent| threshold("warning", percent)));
        changes.extend(self.critical_percent.map(|percent| threshold("critical", percent)));
        changes.extend(self.labels.iter().map(|(key, value)| match value {
            Some(value) => format!("label {key}={value}"),
            None => format!("no label {key}"),
        }));
        changes.extend(self.policy.as_ref().map(policy_in_words));
        changes
    }
}

/// Counts the shared blocks of a written volume before space is promised to it; otherwise all of
/// them would count as shared. This takes long for a large volume and does not hold the lock on
/// changes.
async fn count_before_promising(control: &Control, set: &VolumeSet) -> Result<(), ControlError> {
    let record = control.directory().volume(&set.volume)?.clone();
    let present = control.object(record.object)?;
    let (reserve, percent) = (set.reserve, set.overwrite_reserve_percent);
    let wanted = wanted_reservation(present.reservation, reserve, percent, &record.name)?;
    if wanted.is_some() && wanted != present.reservation && present.mapped_bytes > 0 {
        control.catalog().recount(record.object).await.map_err(|error| control.pool_error(error))?;
    }
    Ok(())
}
