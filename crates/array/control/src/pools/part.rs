//! State of the pool beside its space: settings, results of the last scrub and check, known damage,
//! reached thresholds and counts.

use super::crossings::Crossings;
use super::integrity::Integrity;
use super::locks_held::LocksFill;
use super::unique::UniqueCounts;
use super::{CheckRecord, Limits, PoolRecord, PoolRefusal, ScrubRecord};
use crate::catalog::{DynCatalog, each_object};
use crate::error::ControlError;
use crate::record::load;
use jiff::SignedDuration;
use pool::{Growth, ObjectId, ObjectInfo, ObjectKind};
use std::cell::{Cell, Ref, RefCell};

/// Size of a volume as hosts see it; 0 for another object, and for an address space, which no host sees.
pub(crate) fn size_of_volume(object: &ObjectInfo) -> u64 {
    match object.kind {
        ObjectKind::Volume if !object.is_address_space() => object.size_bytes,
        ObjectKind::Volume | ObjectKind::Snapshot | ObjectKind::Capture => 0,
    }
}

/// State of the pool beside its space. The nouns of this folder change it.
pub(crate) struct PoolPart {
    name: String,
    /// Limits from the configuration.
    defaults: Limits,
    settings: RefCell<PoolRecord>,
    /// Sum of the sizes of all volumes, without those in the trash.
    provisioned_bytes: Cell<u64>,
    scrub: RefCell<Option<ScrubRecord>>,
    check: RefCell<Option<CheckRecord>>,
    /// Growth in progress.
    growing: RefCell<Option<Growth>>,
    pub(super) integrity: Integrity,
    pub(super) crossings: Crossings,
    pub(super) locks_fill: LocksFill,
    pub(super) unique: UniqueCounts,
    /// Counts of sets that administrators ask for.
    pub(super) what_if: UniqueCounts,
}

impl PoolPart {
    /// Reads the documents of the pool.
    pub async fn load(catalog: &dyn DynCatalog, name: String, defaults: Limits) -> Result<Self, ControlError> {
        let scrub: Option<ScrubRecord> = load(catalog)?.pop();
        let integrity = Integrity::default();
        if let Some(scrub) = &scrub {
            integrity.scrubbed(scrub);
        }
        let mut provisioned_bytes = 0_u64;
        let add = |object: &_| provisioned_bytes = provisioned_bytes.saturating_add(size_of_volume(object));
        each_object(catalog, add).await;
        Ok(Self {
            name,
            defaults,
            settings: RefCell::new(load(catalog)?.pop().unwrap_or_default()),
            provisioned_bytes: Cell::new(provisioned_bytes),
            scrub: RefCell::new(scrub),
            check: RefCell::new(load(catalog)?.pop()),
            growing: RefCell::default(),
            integrity,
            crossings: Crossings::load(catalog)?,
            locks_fill: LocksFill::default(),
            unique: UniqueCounts::default(),
            what_if: UniqueCounts::default(),
        })
    }

    /// Name in every interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sum of the sizes of all volumes, without those in the trash.
    pub fn provisioned_bytes(&self) -> u64 {
        self.provisioned_bytes.get()
    }

    /// Takes the sizes of the volumes that a commit changed, before and after it.
    pub fn volumes_resized(&self, before_bytes: u64, after_bytes: u64) {
        let sum = self.provisioned_bytes.get().saturating_sub(before_bytes).saturating_add(after_bytes);
        self.provisioned_bytes.set(sum);
    }

    /// Leaves objects in the trash out of the sum of sizes, at the start.
    pub fn leave_out(&self, catalog: &dyn DynCatalog, trash: &[ObjectId]) {
        let infos = trash.iter().filter_map(|object| catalog.object(*object));
        self.volumes_resized(infos.map(|info| size_of_volume(&info)).fold(0, u64::saturating_add), 0);
    }

    /// Time for which the trash keeps what is deleted; 0: nothing.
    pub fn trash_age(&self) -> SignedDuration {
        self.settings.borrow().trash_age()
    }

    /// Seconds for which nobody deletes for good what goes to the trash; 0: it has no lock.
    pub fn trash_lock_seconds(&self) -> u32 {
        self.settings.borrow().trash_lock_seconds.unwrap_or(0)
    }

    /// 99th percentile of reads and writes of hosts above which they are slow, in microseconds.
    pub fn latency_alert_us(&self) -> Option<u32> {
        self.settings.borrow().latency_alert_us
    }

    /// Settings by command.
    pub(super) fn settings(&self) -> Ref<'_, PoolRecord> {
        self.settings.borrow()
    }

    /// Replaces the settings after their commit.
    pub(super) fn set_settings(&self, settings: PoolRecord) {
        self.settings.replace(settings);
    }

    /// Limits in force: set by command, else configured.
    pub fn limits(&self) -> Limits {
        self.limits_of(&self.settings.borrow())
    }

    /// Limits that would be in force with these settings.
    pub(super) fn limits_of(&self, settings: &PoolRecord) -> Limits {
        Limits {
            warn_percent: settings.warn_percent.unwrap_or(self.defaults.warn_percent),
            critical_percent: settings.critical_percent.unwrap_or(self.defaults.critical_percent),
            commitment: settings.commitment.unwrap_or(self.defaults.commitment),
        }
    }

    /// Growth in progress.
    pub fn growing(&self) -> Option<Growth> {
        self.growing.borrow().clone()
    }

    /// Notes a growth until the returned value is dropped. Refused while another one is in progress.
    pub(super) fn begin_growth(&self, growth: &Growth) -> Result<GrowthInProgress<'_>, PoolRefusal> {
        let mut growing = self.growing.borrow_mut();
        if let Some(growth) = growing.clone() {
            return Err(PoolRefusal::Growing { pool: self.name.clone(), growth });
        }
        *growing = Some(growth.clone());
        Ok(GrowthInProgress { part: self })
    }

    /// Result of the last scrub.
    pub fn last_scrub(&self) -> Option<ScrubRecord> {
        self.scrub.borrow().clone()
    }

    /// Result of the last check.
    pub fn last_check(&self) -> Option<CheckRecord> {
        self.check.borrow().clone()
    }

    /// Takes the result of a finished scrub after its commit.
    pub fn scrubbed(&self, scrub: ScrubRecord) {
        self.integrity.scrubbed(&scrub);
        self.scrub.replace(Some(scrub));
    }

    /// Takes the result of a finished check after its commit.
    pub fn checked(&self, check: CheckRecord) {
        self.integrity.checked(&check);
        self.check.replace(Some(check));
    }
}

/// Growth of the pool, which ends when the value is dropped.
pub(super) struct GrowthInProgress<'a> {
    part: &'a PoolPart,
}

impl Drop for GrowthInProgress<'_> {
    fn drop(&mut self) {
        self.part.growing.replace(None);
    }
}
