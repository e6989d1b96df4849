//! The pool: its space, settings and growth.

mod counts;
mod crossings;
mod damage;
pub(crate) mod error;
mod forecast;
mod frees;
pub(crate) mod integrity;
pub(crate) mod limits;
mod locks_fill;
mod locks_held;
pub(crate) mod part;
pub(crate) mod ranges;
pub(crate) mod record;
mod scrub_age;
pub(crate) mod state;
pub(crate) mod thresholds;
pub(crate) mod unique;
mod warnings;
mod what_if;

use crate::condition::Noun;
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::{Facts, PoolFacts};
use crate::live::Change;
use crate::read::Read;
use crate::record::Document;
use crate::request::Request;
use crate::samples::slow::check_limit;
use crate::trash::error::TrashError;
use crate::trash::record::MAX_AGE;
pub use error::PoolRefusal;
use error::growth_in_words;
pub use forecast::{ForecastView, PoolForecast, PoolForecastBasis, Slope};
pub use frees::{FreeableKind, FreeableView, PoolFrees};
pub use integrity::MAX_BAD_RANGES;
pub use limits::Limits;
pub(crate) use part::PoolPart;
pub use record::{BadRange, CheckRecord, Commitment, PoolRecord, ScrubRecord};
pub use scrub_age::SCRUB_WITHIN_DAYS;
pub use state::{PoolState, Warning};
pub use thresholds::SoftThresholds;
pub use what_if::{SpaceWhatIf, WhatIfView};

use pool::{Growth, ObjectId, PoolSpace};
use text::duration::exact_seconds;

/// Lists all pools.
#[derive(Clone, Debug)]
pub struct PoolList;

/// Shows one pool.
#[derive(Clone, Debug)]
pub struct PoolShow {
    /// Name of the pool.
    pub pool: String,
}

/// Changes a pool's settings; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct PoolSet {
    /// Name of the pool.
    pub pool: String,
    /// Percentage in use at which the pool warns.
    pub warn_percent: Option<u8>,
    /// Percentage in use at which the state is critical.
    pub critical_percent: Option<u8>,
    /// Limit of the volumes' total size.
    pub commitment: Option<Commitment>,
    /// Seconds for which the trash keeps what is deleted from now on; 0: nothing. At most 30 days.
    pub trash_seconds: Option<u32>,
    /// Seconds for which nobody deletes for good what goes to the trash from now on. It becomes longer only, and the
    /// trash keeps what is deleted at least that long.
    pub trash_lock_seconds: Option<u32>,
    /// 99th percentile of reads and writes of hosts in microseconds, above which for five minutes there is an alert;
    /// 0: no alert.
    pub latency_alert_us: Option<u32>,
}

/// Grows a pool.
#[derive(Clone, Debug)]
pub struct PoolGrow {
    /// Name of the pool.
    pub pool: String,
    /// Kind of growth.
    pub growth: Growth,
}

/// Pool.
#[derive(Clone, Debug)]
pub struct PoolView {
    /// Name.
    pub name: String,
    /// State: whether it serves and has space.
    pub state: PoolState,
    /// Reason why it stopped, if it did.
    pub stopped: Option<String>,
    /// Space.
    pub space: PoolSpace,
    /// Sum of volume sizes.
    pub provisioned_bytes: u64,
    /// Sum of the bytes that volumes have mapped.
    pub mapped_bytes: u64,
    /// Number of volumes.
    pub volumes: u64,
    /// Number of shares.
    pub shares: u64,
    /// Number of snapshots.
    pub snapshots: u64,
    /// Free and unpromised bytes.
    pub available_bytes: u64,
    /// Sum of the bytes that deleting each single volume would free; absent until all are counted.
    pub unique_bytes: Option<u64>,
    /// Sum over the volumes of the bytes that deleting all snapshots of each would free; absent
    /// until all are counted.
    pub snapshot_bytes: Option<u64>,
    /// Bytes that only copy tokens of hosts keep until they expire; absent until all are counted.
    pub token_bytes: Option<u64>,
    /// The trash.
    pub trash: TrashSpace,
    /// Rest of `used`: bytes stored once for several objects, and bytes about to be freed. Absent
    /// until all are counted.
    pub shared_bytes: Option<u64>,
    /// Thresholds and limit in force.
    pub limits: Limits,
    /// 99th percentile of reads and writes of hosts above which they are slow, in microseconds; absent: no limit.
    pub latency_alert_us: Option<u32>,
    /// Results of the last jobs that read it.
    pub examined: Examined,
    /// Growth in progress.
    pub growing: Option<Growth>,
    /// Warnings about the consequences of the request that this view answers.
    pub warnings: Vec<Warning>,
}

/// Results of the last jobs that read a whole pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    /// Of the last scrub.
    pub scrub: Option<ScrubRecord>,
    /// Of the last check.
    pub check: Option<CheckRecord>,
}

/// Trash of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrashSpace {
    /// Bytes that emptying it would free; absent until all are counted.
    pub bytes: Option<u64>,
    /// Number of volumes, shares and snapshots in it.
    pub objects: u64,
    /// Seconds for which it keeps what is deleted.
    pub seconds: u32,
    /// Seconds for which nobody deletes for good what goes there; 0: it has no lock.
    pub lock_seconds: u32,
}

impl Read for PoolList {
    type Reply = Vec<PoolView>;
    const NAME: &'static str = "pool-list";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        facts.counted_of_pool()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<PoolView>, ControlError> {
        Ok(vec![facts.pool_view()])
    }
}

impl Read for PoolShow {
    type Reply = PoolView;
    const NAME: &'static str = "pool-show";
    const FRESH_COUNTS: bool = true;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        facts.counted_of_pool()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<PoolView, ControlError> {
        let view = facts.pool_view();
        if view.name != self.pool {
            return Err(ControlError::NotFound { noun: Noun::Pool, name: self.pool.clone() });
        }
        Ok(view)
    }
}

impl Request for PoolSet {
    type Reply = PoolView;
    const NAME: &'static str = "pool-set";

    async fn run(&self, control: &Control) -> Result<PoolView, ControlError> {
        let pool = control.pool_named(Some(&self.pool))?;
        let _changes = control.lock_changes().await;
        let settings = pool.settings().clone();
        let settings = PoolRecord {
            warn_percent: self.warn_percent.or(settings.warn_percent),
            critical_percent: self.critical_percent.or(settings.critical_percent),
            commitment: self.commitment.or(settings.commitment),
            trash_seconds: self.trash_seconds.or(settings.trash_seconds),
            trash_lock_seconds: self.trash_lock_seconds.or(settings.trash_lock_seconds),
            latency_alert_us: self.latency_alert_us.or(settings.latency_alert_us).filter(|limit_us| *limit_us > 0),
        };
        check_limit(self.latency_alert_us)?;
        check_trash(pool.trash_lock_seconds(), &settings)?;
        let limits = pool.limits_of(&settings);
        limits.check().map_err(ControlError::InvalidSetting)?;
        let before = pool.limits();
        let shown = |limits: &Limits| (limits.warn_percent, limits.critical_percent);
        let changed = (shown(&before) != shown(&limits)).then_some(Change::ThresholdsChanged { object: None });
        control.store(vec![settings.put()?]).await?;
        pool.set_settings(settings);
        control.publish(changed.as_slice()).await;
        let mut view = control.see(|facts| facts.pool_view());
        if self.commitment.is_some() {
            view.warnings = control.limit_warnings(&limits, &view);
        }
        Ok(view)
    }

    fn event(&self, _view: &PoolView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.warn_percent.map(|percent| format!("warning at {percent} %")));
        changes.extend(self.critical_percent.map(|percent| format!("critical at {percent} %")));
        changes.extend(self.commitment.map(|commitment| match commitment {
            Commitment::Unlimited => "no commitment limit".to_owned(),
            Commitment::Percent(percent) => format!("commitment limit {percent} %"),
        }));
        changes.extend(self.trash_seconds.map(|seconds| match seconds {
            0 => "trash off".to_owned(),
            seconds => format!("trash kept for {}", exact_seconds(seconds)),
        }));
        changes.extend(self.trash_lock_seconds.map(|seconds| format!("trash locked for {}", exact_seconds(seconds))));
        changes.extend(self.latency_alert_us.map(|limit_us| match limit_us {
            0 => "no alert for slow commands".to_owned(),
            limit_us => format!("alert for commands slower than {limit_us} µs"),
        }));
        let message = format!("pool {} changed: {}", self.pool, changes.join(", "));
        Some(Draft::info("pool-changed", &self.pool, message))
    }
}

impl Request for PoolGrow {
    type Reply = PoolView;
    const NAME: &'static str = "pool-grow";

    async fn run(&self, control: &Control) -> Result<PoolView, ControlError> {
        control.pool_named(Some(&self.pool))?;
        if let Growth::Device(path) = &self.growth
            && !path.is_absolute()
        {
            let reason = format!("{} is not an absolute path on the array's machine", path.display());
            return Err(PoolRefusal::CannotGrow { reason }.into());
        }
        // Without the lock for changes: a growth changes no object and no document, and its checkpoint
        // may take long.
        let growing = control.pool().begin_growth(&self.growth)?;
        control.catalog().grow(self.growth.clone()).await.map_err(|error| control.pool_error(error))?;
        drop(growing);
        Ok(control.see(|facts| facts.pool_view()))
    }

    fn event(&self, _view: &PoolView) -> Option<Draft> {
        let how = growth_in_words(&self.growth);
        Some(Draft::info("pool-grown", &self.pool, format!("pool {} grown {how}", self.pool)))
    }
}

impl Control {
    /// View of the pool without counted values.
    pub(crate) fn pool_facts(&self) -> PoolFacts {
        let space = self.catalog().space();
        let stopped = self.live().pool_stopped();
        let state = self.pool_state();
        PoolFacts {
            name: self.pool().name().to_owned(),
            state,
            stopped,
            space,
            limits: self.pool().limits(),
            trash_seconds: u32::try_from(self.pool().trash_age().as_secs()).unwrap_or(u32::MAX),
            trash_lock_seconds: self.pool().trash_lock_seconds(),
            latency_alert_us: self.pool().latency_alert_us(),
            scrub: self.pool().last_scrub(),
            check: self.pool().last_check(),
            growing: self.pool().growing(),
        }
    }

    /// Pool with this name; without a name, the default pool. Errors: `NotFound`.
    pub(crate) fn pool_named(&self, name: Option<&str>) -> Result<&PoolPart, ControlError> {
        let pool = self.pool();
        match name.filter(|name| *name != pool.name()) {
            None => Ok(pool),
            Some(name) => Err(ControlError::NotFound { noun: Noun::Pool, name: name.to_owned() }),
        }
    }

    /// Refuses a request that would exceed the limit of the volumes' total size.
    pub(crate) fn check_commitment(&self, needed_bytes: u64) -> Result<(), ControlError> {
        let Commitment::Percent(percent) = self.pool().limits().commitment else { return Ok(()) };
        let limit = u128::from(self.catalog().space().size_bytes) * u128::from(percent) / 100;
        let limit_bytes = u64::try_from(limit).unwrap_or(u64::MAX);
        let provisioned_bytes = self.pool().provisioned_bytes();
        if needed_bytes > 0 && u128::from(provisioned_bytes) + u128::from(needed_bytes) > limit {
            let wanted = u128::from(provisioned_bytes) + u128::from(needed_bytes);
            let sufficient = (wanted * 100).div_ceil(u128::from(self.catalog().space().size_bytes.max(1)));
            let sufficient = u32::try_from(sufficient).ok().filter(|percent| *percent < limits::MAX_COMMITMENT_PERCENT);
            return Err(PoolRefusal::OverCommitted {
                provisioned_bytes,
                needed_bytes,
                limit_bytes,
                percent,
                sufficient_percent: sufficient,
                pool: self.pool().name().to_owned(),
            }
            .into());
        }
        Ok(())
    }
}

impl dyn Facts + '_ {
    /// View of the pool with all values, as last counted.
    pub(crate) fn pool_view(&self) -> PoolView {
        let PoolFacts { name, state, stopped, space, limits, trash_seconds, trash_lock_seconds, .. } = self.pool();
        let PoolFacts { scrub, check, growing, latency_alert_us, .. } = self.pool();
        let directory = self.directory();
        let (mut provisioned_bytes, mut mapped_bytes) = (0_u64, 0_u64);
        let (mut unique, mut snapshots) = (Some(0_u64), Some(0_u64));
        let add = |sum: Option<u64>, bytes: Option<u64>| Some(sum?.saturating_add(bytes?));
        for volume in directory.volumes() {
            let Some(object) = self.object(volume.object) else { continue };
            provisioned_bytes = provisioned_bytes.saturating_add(object.size_bytes);
            mapped_bytes = mapped_bytes.saturating_add(object.mapped_bytes);
            unique = add(unique, self.unique_bytes(&[volume.object]));
            snapshots = add(snapshots, self.snapshot_bytes(volume.id));
        }
        // No host sees the size of a share.
        for share in directory.shares() {
            let Some(object) = self.object(share.object) else { continue };
            mapped_bytes = mapped_bytes.saturating_add(object.mapped_bytes);
            unique = add(unique, self.unique_bytes(&[share.object]));
            snapshots = add(snapshots, self.snapshot_bytes(share.id));
        }
        let (tokens, trash) = (self.token_bytes(), self.trash_bytes());
        let own = add(add(add(unique, snapshots), tokens), trash);
        let data = space.used_bytes.saturating_sub(space.metadata_bytes);
        PoolView {
            name,
            state,
            stopped,
            space,
            provisioned_bytes,
            mapped_bytes,
            volumes: count(directory.volume_count()),
            shares: count(directory.share_count()),
            snapshots: count(directory.snapshot_count()),
            available_bytes: available_bytes(&space),
            unique_bytes: unique,
            snapshot_bytes: snapshots,
            token_bytes: tokens,
            trash: TrashSpace {
                bytes: trash,
                objects: count(directory.trash_count()),
                seconds: trash_seconds,
                lock_seconds: trash_lock_seconds,
            },
            shared_bytes: own.map(|own| data.saturating_sub(own)),
            limits,
            latency_alert_us,
            examined: Examined { scrub, check },
            growing,
            warnings: Vec::new(),
        }
    }
}

/// Checks the times of the trash. `locked_seconds`: its present lock. Errors: `LockStays` if it would become shorter,
/// `InvalidSetting` if the trash would keep things too long, or shorter than its lock.
fn check_trash(locked_seconds: u32, settings: &PoolRecord) -> Result<(), ControlError> {
    let (age, lock_seconds) = (settings.trash_age(), settings.trash_lock_seconds.unwrap_or(0));
    if age > MAX_AGE {
        return Err(ControlError::InvalidSetting("the trash keeps what is deleted for at most 30 days".to_owned()));
    }
    if lock_seconds < locked_seconds {
        return Err(TrashError::LockStays { seconds: locked_seconds }.into());
    }
    if i64::from(lock_seconds) > age.as_secs() {
        let (lock, kept) =
            (exact_seconds(lock_seconds), exact_seconds(u32::try_from(age.as_secs()).unwrap_or(u32::MAX)));
        let reason = format!("the trash keeps what is deleted for {kept}: its lock of {lock} cannot be longer");
        return Err(ControlError::InvalidSetting(reason));
    }
    Ok(())
}

/// Free and unpromised bytes.
fn available_bytes(space: &PoolSpace) -> u64 {
    space.free_bytes.saturating_sub(space.promised_bytes)
}

/// Length as a `u64`.
pub(crate) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
