//! Soft thresholds of the pool, of volumes and of shares with a quota, and the full pool.
//!
//! A threshold is crossed once: it stays reached until usage has fallen two percent below it, or to
//! half of it if that is less far. This state is stored as a document, so that a restart raises no
//! second event. It is checked every second and after each action.

use super::crossings::{CrossingRecord, Mark};
use crate::control::Control;
use crate::events::view::AlertView;
use crate::events::{Draft, Severity};
use crate::live::{Change, Level};
use crate::pools::limits::Limits;
use crate::volumes::record::VolumeRecord;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Distance below a threshold at which it is left, in percent, or half of the threshold if that is
/// less: otherwise a threshold of one or two percent would never be left.
const HYSTERESIS_PERCENT: u8 = 2;
/// Available bytes below which a write of 1 MiB may be refused: its data, and the map pages above
/// it.
const FULL_BYTES: u64 = (1 << 20) + (64 << 10);
/// Available bytes at which the pool is no longer full.
const BACK_BYTES: u64 = 4 << 20;

/// Share in percent, rounded down; 0 of an empty whole.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    let percent = (u128::from(part) * 100).checked_div(u128::from(whole)).unwrap_or(0);
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// True if `part` is at least this share of `whole`, in halves of a percent.
fn reaches(part: u64, whole: u64, half_percents: u16) -> bool {
    whole > 0 && u128::from(part) * 200 >= u128::from(whole) * u128::from(half_percents)
}

/// Threshold level reached now, given the level `before`.
pub(super) fn level(before: Option<Level>, part: u64, whole: u64, thresholds: &[(Level, u8)]) -> Option<Level> {
    let is_reached = |(level, percent): &&(Level, u8)| {
        let held = before.is_some_and(|before| before >= *level);
        let below = if held { (*percent).min(2 * HYSTERESIS_PERCENT) } else { 0 };
        reaches(part, whole, 2 * u16::from(*percent) - u16::from(below))
    };
    thresholds.iter().filter(is_reached).map(|(level, _)| *level).max()
}

fn pool_thresholds(limits: &Limits) -> [(Level, u8); 2] {
    [(Level::Warning, limits.warn_percent), (Level::Critical, limits.critical_percent)]
}

fn volume_thresholds(volume: &VolumeRecord) -> Vec<(Level, u8)> {
    let warning = volume.warn_percent.map(|percent| (Level::Warning, percent));
    warning.into_iter().chain(volume.critical_percent.map(|percent| (Level::Critical, percent))).collect()
}

fn severity(level: Level) -> Severity {
    match level {
        Level::Warning => Severity::Warning,
        Level::Critical => Severity::Critical,
    }
}

/// Soft thresholds that apply to a volume, in bytes; the lower level first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoftThresholds {
    /// Thresholds of the pool: reached if no more than this is available.
    pub available_bytes: Vec<u64>,
    /// Thresholds of the volume: reached if at least this is mapped.
    pub used_bytes: Vec<u64>,
}

/// Bytes of a share in percent.
fn share_bytes(whole: u64, percent: u8) -> u64 {
    u64::try_from(u128::from(whole) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

impl Control {
    /// Present thresholds of the pool and of the volume in `object`.
    pub fn soft_thresholds(&self, object: pool::ObjectId) -> SoftThresholds {
        let size_bytes = self.catalog().space().size_bytes;
        let limits = self.pool().limits();
        let left = |percent: u8| share_bytes(size_bytes, 100u8.saturating_sub(percent));
        let volume_bytes = self.catalog().object(object).map_or(0, |object| object.size_bytes);
        let volume = self.directory().volume_of(object).map(|volume| (volume.warn_percent, volume.critical_percent));
        let (warn, critical) = volume.unwrap_or_default();
        SoftThresholds {
            available_bytes: vec![left(limits.warn_percent), left(limits.critical_percent)],
            used_bytes: [warn, critical]
                .into_iter()
                .flatten()
                .map(|percent| share_bytes(volume_bytes, percent))
                .collect(),
        }
    }

    /// Threshold level that the pool's usage reaches now.
    pub(super) fn pool_threshold(&self) -> Option<Level> {
        let space = self.catalog().space();
        let used = space.used_bytes.saturating_add(space.promised_bytes);
        level(self.pool().crossings.level(Mark::Pool), used, space.size_bytes, &pool_thresholds(&self.pool().limits()))
    }

    /// True if there is no space for a large write; stays true until there is space for several.
    pub(super) fn pool_is_full(&self) -> bool {
        let space = self.catalog().space();
        let available = space.free_bytes.saturating_sub(space.promised_bytes);
        let was_full = self.pool().crossings.level(Mark::PoolFull).is_some();
        available < if was_full { BACK_BYTES } else { FULL_BYTES }
    }

    /// Compares usage with every threshold, raises events and stores changes. Documents that cannot
    /// be stored now are retried later.
    pub(crate) async fn check_thresholds(&self) {
        if self.live().pool_stopped().is_some() {
            return;
        }
        self.find_crossings();
        let marks = self.pool().crossings.unsaved.borrow().clone();
        if marks.is_empty() {
            return;
        }
        let Ok(mut changes) = self.pool().crossings.changes() else { return };
        let next = self.events().next();
        changes.push(self.events().put(false));
        if self.catalog().commit(changes).await.is_ok() {
            self.pool().crossings.unsaved.borrow_mut().retain(|mark| !marks.contains(mark));
            self.events().saved(&**self.environment(), next);
        }
    }

    fn find_crossings(&self) {
        self.find_crossing_of_pool();
        self.find_full_pool();
        for volume in self.volumes_to_check() {
            self.find_crossing_of_volume(volume);
        }
        self.find_crossings_of_shares();
        self.forget_deleted();
    }

    /// Threshold of the pool.
    fn find_crossing_of_pool(&self) {
        let space = self.catalog().space();
        let used = space.used_bytes.saturating_add(space.promised_bytes);
        let before = self.pool().crossings.level(Mark::Pool);
        let now = self.pool_threshold();
        let share = percent(used, space.size_bytes);
        if now != before {
            let message = match now {
                Some(_) => format!("{share} % of the pool is used or promised"),
                None => format!("{share} % of the pool is used or promised: below its thresholds again"),
            };
            self.cross(Mark::Pool, now, before, self.pool().name().to_owned(), message, None);
        }
    }

    /// The pool without space.
    fn find_full_pool(&self) {
        let before = self.pool().crossings.level(Mark::PoolFull);
        let now = self.pool_is_full().then_some(Level::Critical);
        if now != before {
            self.keep(Mark::PoolFull, now);
            self.raise(match now {
                Some(_) => Draft::new(
                    Severity::Critical,
                    "pool-full",
                    self.pool().name().to_owned(),
                    "the pool is full: writes that need new space fail, except those to thick volumes; locks, and small overwrites of what snapshots share, go on as long as the working reserve lasts",
                ),
                None => {
                    Draft::new(Severity::Info, "pool-space-back", self.pool().name().to_owned(), "the pool has space again")
                }
            });
        }
    }

    /// Volumes with thresholds, and those with one that is reached: a threshold that was switched
    /// off is left.
    fn volumes_to_check(&self) -> Vec<VolumeRecord> {
        let directory = self.directory();
        let reached = self.pool().crossings.reached.borrow();
        let mut volumes: BTreeMap<Uuid, &VolumeRecord> =
            directory.volumes_with_thresholds().map(|volume| (volume.id, volume)).collect();
        volumes.extend(reached.keys().filter_map(|mark| match mark {
            Mark::Volume(volume) => Some((*volume, directory.volume_by_id(*volume)?)),
            Mark::Pool | Mark::PoolFull | Mark::Share(_) => None,
        }));
        volumes.into_values().cloned().collect()
    }

    /// Threshold of a volume.
    fn find_crossing_of_volume(&self, volume: VolumeRecord) {
        let Some(object) = self.catalog().object(volume.object) else { return };
        let mark = Mark::Volume(volume.id);
        let before = self.pool().crossings.level(mark);
        let now = level(before, object.mapped_bytes, object.size_bytes, &volume_thresholds(&volume));
        let share = percent(object.mapped_bytes, object.size_bytes);
        if now != before {
            let message = match now {
                Some(_) => format!("{share} % of volume {} is mapped", volume.name),
                None => format!("{share} % of volume {} is mapped: below its threshold again", volume.name),
            };
            self.cross(mark, now, before, volume.name, message, Some(volume.object));
        }
    }

    /// Thresholds of shares: the pool's, of their quotas. One that has no quota any more leaves them.
    fn find_crossings_of_shares(&self) {
        let shares: Vec<(Uuid, pool::ObjectId)> =
            self.directory().shares().map(|share| (share.id, share.object)).collect();
        for (id, object) in shares {
            let Some(object) = self.catalog().object(object) else { continue };
            let (mark, quota) = (Mark::Share(id), object.ceiling_bytes.unwrap_or(0));
            let before = self.pool().crossings.level(mark);
            let now = level(before, object.used_bytes(), quota, &pool_thresholds(&self.pool().limits()));
            if now == before {
                continue;
            }
            let Some(name) = self.directory().share_by_id(id).map(|share| share.name.clone()) else { continue };
            let share = percent(object.used_bytes(), quota);
            let message = match (now, object.ceiling_bytes) {
                (Some(_), _) => format!("{share} % of the quota of share {name} is used or promised"),
                (None, Some(_)) => {
                    format!("{share} % of the quota of share {name} is used or promised: below its threshold again")
                }
                (None, None) => format!("share {name} has no quota any more"),
            };
            self.keep(mark, now);
            self.raise_crossing(now, before, name, message);
        }
    }

    /// Marks of volumes and shares that were deleted.
    fn forget_deleted(&self) {
        let gone: Vec<Mark> = {
            let directory = self.directory();
            let is_gone = |mark: &&Mark| match mark {
                Mark::Pool | Mark::PoolFull => false,
                Mark::Volume(volume) => directory.volume_by_id(*volume).is_none(),
                Mark::Share(share) => directory.share_by_id(*share).is_none(),
            };
            self.pool().crossings.reached.borrow().keys().filter(is_gone).copied().collect()
        };
        for mark in gone {
            self.keep(mark, None);
        }
    }

    /// Raises the event of a threshold that was reached or left.
    fn cross(
        &self,
        mark: Mark,
        now: Option<Level>,
        before: Option<Level>,
        subject: String,
        message: String,
        object: Option<pool::ObjectId>,
    ) {
        self.keep(mark, now);
        self.raise_crossing(now, before, subject, message);
        if let Some(reached) = now.filter(|now| Some(*now) > before) {
            self.live().publish(&Change::ThresholdReached { object, level: reached }, &self.directory());
        }
    }

    fn raise_crossing(&self, now: Option<Level>, before: Option<Level>, subject: String, message: String) {
        let (severity, code) = match now {
            Some(Level::Critical) => (Severity::Critical, "threshold-reached"),
            Some(Level::Warning) if before.is_none() => (Severity::Warning, "threshold-reached"),
            Some(Level::Warning) | None => (Severity::Info, "threshold-left"),
        };
        self.raise(Draft::new(severity, code, subject, message));
    }

    fn keep(&self, mark: Mark, now: Option<Level>) {
        let mut reached = self.pool().crossings.reached.borrow_mut();
        match now {
            Some(level) => {
                let since = self.environment().now();
                reached.insert(mark, CrossingRecord { mark, level, since });
            }
            None => {
                reached.remove(&mark);
            }
        }
        self.pool().crossings.unsaved.borrow_mut().insert(mark);
    }

    /// Active alerts about space.
    pub(crate) fn space_alerts(&self) -> Vec<AlertView> {
        let space = self.catalog().space();
        let reached = self.pool().crossings.reached.borrow();
        let directory = self.directory();
        let alert = |record: &CrossingRecord| {
            // Alerts show present usage; a threshold that has been left stays until the next check.
            let used_of = |part, whole, thresholds: &[(Level, u8)]| {
                let level = level(Some(record.level), part, whole, thresholds).unwrap_or(record.level);
                (severity(level), percent(part, whole))
            };
            let since = record.since;
            Some(match record.mark {
                Mark::Pool => {
                    let used = space.used_bytes.saturating_add(space.promised_bytes);
                    let (severity, share) = used_of(used, space.size_bytes, &pool_thresholds(&self.pool().limits()));
                    AlertView {
                        code: "pool-threshold",
                        severity,
                        subject: self.pool().name().to_owned(),
                        since,
                        message: format!("{share} % of the pool is used or promised"),
                        help: "delete volumes or snapshots, unmap in the hosts, or grow the pool",
                        note: None,
                    }
                }
                Mark::PoolFull => AlertView {
                    code: "pool-full",
                    severity: severity(record.level),
                    subject: self.pool().name().to_owned(),
                    since,
                    message: "writes that need new space fail".to_owned(),
                    help: "delete volumes or snapshots, unmap in the hosts, or grow the pool",
                    note: None,
                },
                Mark::Volume(volume) => {
                    let volume = directory.volume_by_id(volume)?;
                    let object = self.catalog().object(volume.object)?;
                    let (severity, share) = used_of(object.mapped_bytes, object.size_bytes, &volume_thresholds(volume));
                    AlertView {
                        code: "volume-threshold",
                        severity,
                        subject: volume.name.clone(),
                        since,
                        message: format!("{share} % of the volume is mapped"),
                        help: "unmap in the hosts, or grow the volume",
                        note: None,
                    }
                }
                Mark::Share(share) => {
                    let share = directory.share_by_id(share)?;
                    let object = self.catalog().object(share.object)?;
                    let (used, quota) = (object.used_bytes(), object.ceiling_bytes?);
                    let (severity, percent) = used_of(used, quota, &pool_thresholds(&self.pool().limits()));
                    AlertView {
                        code: "share-threshold",
                        severity,
                        subject: share.name.clone(),
                        since,
                        message: format!("{percent} % of the quota of the share is used or promised"),
                        help: "delete files, or raise the quota",
                        note: None,
                    }
                }
            })
        };
        reached.values().filter_map(alert).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, level, percent};

    #[test]
    fn a_threshold_is_left_two_percent_below_it() {
        let thresholds = [(Level::Warning, 80), (Level::Critical, 90)];
        let (none, warning, critical) = (None, Some(Level::Warning), Some(Level::Critical));
        for (before, part, now) in [
            (none, 79, none),
            (none, 80, warning),
            (warning, 79, warning),
            (warning, 78, warning),
            (warning, 77, none),
            (none, 95, critical),
            (critical, 88, critical),
            (critical, 87, warning),
            (critical, 10, none),
        ] {
            assert_eq!(level(before, part, 100, &thresholds), now, "{before:?} {part}");
        }
        assert_eq!(level(none, 5, 0, &thresholds), none);
        // Small thresholds are left at half their value.
        let small = [(Level::Warning, 1), (Level::Critical, 2)];
        for (before, part, now) in
            [(critical, 10, critical), (critical, 9, warning), (warning, 5, warning), (warning, 4, none)]
        {
            assert_eq!(level(before, part, 1000, &small), now, "{before:?} {part}");
        }
        assert_eq!(level(critical, 0, 1000, &small), none);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }
}
