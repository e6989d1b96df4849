//! The pool: its space, settings and growth.

pub(crate) mod integrity;
pub(crate) mod thresholds;
pub(crate) mod unique;

pub(crate) mod record;

use crate::events::Draft;
use crate::record::Document;
use crate::{
    Change, CheckRecord, Commitment, Control, ControlError, Directory, Noun, PoolRecord, Request, ScrubRecord,
};
use pool::{Growth, ObjectKind, PoolSpace};
use thresholds::FULL_BYTES;
use unique::Patience;

/// Largest limit of over-commitment.
const MAX_COMMITMENT_PERCENT: u32 = 1_000_000;

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
    /// Rest of `used`: bytes stored once for several objects, and bytes about to be freed. Absent
    /// until all are counted.
    pub shared_bytes: Option<u64>,
    /// Thresholds and limit in force.
    pub limits: Limits,
    /// Result of the last scrub.
    pub scrub: Option<ScrubRecord>,
    /// Result of the last check.
    pub check: Option<CheckRecord>,
}

/// Whether a pool serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolState {
    /// Serving.
    Healthy,
    /// Serving, but content or metadata is lost.
    Damaged,
    /// No space for new data except that of thick volumes.
    Full,
    /// Stopped after an error of its medium.
    Stopped,
}

/// Thresholds of a pool and the limit of its over-commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Percentage used or promised at which the pool warns.
    pub warn_percent: u8,
    /// Percentage used or promised at which the state is critical.
    pub critical_percent: u8,
    /// Limit of the volumes' total size.
    pub commitment: Commitment,
}

impl Default for Limits {
    fn default() -> Self {
        Self { warn_percent: 80, critical_percent: 90, commitment: Commitment::Unlimited }
    }
}

impl Request for PoolList {
    type Reply = Vec<PoolView>;
    const NAME: &'static str = "pool-list";

    async fn run(&self, control: &Control) -> Result<Vec<PoolView>, ControlError> {
        Ok(vec![control.counted_pool(&mut control.patience()).await])
    }
}

impl Request for PoolShow {
    type Reply = PoolView;
    const NAME: &'static str = "pool-show";

    async fn run(&self, control: &Control) -> Result<PoolView, ControlError> {
        control.check_pool_name(&self.pool)?;
        Ok(control.counted_pool(&mut control.patience()).await)
    }
}

impl Request for PoolSet {
    type Reply = PoolView;
    const NAME: &'static str = "pool-set";

    async fn run(&self, control: &Control) -> Result<PoolView, ControlError> {
        control.check_pool_name(&self.pool)?;
        let _changes = control.lock_changes().await;
        let settings = control.settings.borrow().clone();
        let settings = PoolRecord {
            warn_percent: self.warn_percent.or(settings.warn_percent),
            critical_percent: self.critical_percent.or(settings.critical_percent),
            commitment: self.commitment.or(settings.commitment),
        };
        let limits = control.limits_of(&settings);
        limits.check().map_err(ControlError::InvalidSetting)?;
        let before = control.limits();
        let shown = |limits: &Limits| (limits.warn_percent, limits.critical_percent);
        let changed = (shown(&before) != shown(&limits)).then_some(Change::ThresholdsChanged { object: None });
        let put = settings.put()?;
        let apply = |_: &mut Directory| {
            control.settings.replace(settings);
        };
        control.commit(vec![put], apply, changed.as_slice()).await?;
        Ok(control.counted_pool(&mut control.patience()).await)
    }

    fn event(&self, _view: &PoolView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.warn_percent.map(|percent| format!("warning at {percent} %")));
        changes.extend(self.critical_percent.map(|percent| format!("critical at {percent} %")));
        changes.extend(self.commitment.map(|commitment| match commitment {
            Commitment::Unlimited => "no commitment limit".to_owned(),
            Commitment::Percent(percent) => format!("commitment limit {percent} %"),
        }));
        let message = format!("pool {} changed: {}", self.pool, changes.join(", "));
        Some(Draft::info("pool-changed", &self.pool, message))
    }
}

impl Request for PoolGrow {
    type Reply = PoolView;
    const NAME: &'static str = "pool-grow";

    async fn run(&self, control: &Control) -> Result<PoolView, ControlError> {
        control.check_pool_name(&self.pool)?;
        if let Growth::Device(path) = &self.growth
            && !path.is_absolute()
        {
            let reason = format!("{} is not an absolute path on the array's machine", path.display());
            return Err(ControlError::CannotGrow { reason });
        }
        let _changes = control.lock_changes().await;
        control.catalog.grow(self.growth.clone()).await.map_err(|error| control.pool_error(error))?;
        Ok(control.counted_pool(&mut control.patience()).await)
    }

    fn event(&self, _view: &PoolView) -> Option<Draft> {
        let how = match &self.growth {
            Growth::Size(bytes) => format!("to {}", text::size::format(*bytes)),
            Growth::Device(path) => format!("by {}", path.display()),
        };
        Some(Draft::info("pool-grown", &self.pool, format!("pool {} grown {how}", self.pool)))
    }
}

impl Control {
    /// The pool without what has to be counted.
    pub(crate) fn pool(&self) -> PoolView {
        let space = self.catalog.space();
        let stopped = self.live.pool_stopped();
        let available_bytes = space.free_bytes.saturating_sub(space.promised_bytes);
        let has_findings = self.results.borrow().check.as_ref().is_some_and(|check| check.count > 0);
        let state = if stopped.is_some() {
            PoolState::Stopped
        } else if available_bytes < FULL_BYTES || space.starved {
            PoolState::Full
        } else if self.integrity.is_damaged() || has_findings {
            PoolState::Damaged
        } else {
            PoolState::Healthy
        };
        let objects = self.catalog.objects();
        let volumes = || objects.iter().filter(|object| object.kind == ObjectKind::Volume);
        let results = self.results.borrow();
        PoolView {
            name: self.pool_name.clone(),
            state,
            stopped,
            space,
            provisioned_bytes: volumes().map(|object| object.size_bytes).fold(0, u64::saturating_add),
            mapped_bytes: volumes().map(|object| object.mapped_bytes).fold(0, u64::saturating_add),
            volumes: count(self.directory().volumes.len()),
            snapshots: count(self.directory().snapshots.len()),
            available_bytes,
            unique_bytes: None,
            snapshot_bytes: None,
            token_bytes: None,
            shared_bytes: None,
            limits: self.limits(),
            scrub: results.scrub.clone(),
            check: results.check.clone(),
        }
    }

    /// The pool with everything, as far as the caller's patience goes.
    pub(crate) async fn counted_pool(&self, patience: &mut Patience) -> PoolView {
        let records: Vec<_> = self.directory().volumes.values().cloned().collect();
        let (mut unique, mut snapshots) = (Some(0_u64), Some(0_u64));
        let add = |sum: Option<u64>, bytes: Option<u64>| Some(sum?.saturating_add(bytes?));
        for record in records {
            if let Some((_, bytes)) = self.space_of(record.object, patience).await {
                unique = add(unique, bytes);
                snapshots = add(snapshots, self.snapshot_bytes(record.id, patience).await);
            }
        }
        let tokens = self.token_bytes(patience).await;
        let mut view = self.pool();
        (view.unique_bytes, view.snapshot_bytes, view.token_bytes) = (unique, snapshots, tokens);
        let own = add(add(unique, snapshots), tokens);
        let data = view.space.used_bytes.saturating_sub(view.space.metadata_bytes);
        view.shared_bytes = own.map(|own| data.saturating_sub(own));
        view
    }

    pub(crate) fn check_pool_name(&self, name: &str) -> Result<(), ControlError> {
        if name == self.pool_name {
            return Ok(());
        }
        Err(ControlError::NotFound { noun: Noun::Pool, name: name.to_owned() })
    }

    /// Thresholds and limit in force: what was set, else what is configured.
    pub(crate) fn limits(&self) -> Limits {
        self.limits_of(&self.settings.borrow())
    }

    /// Thresholds and limit that would be in force with these settings.
    fn limits_of(&self, settings: &PoolRecord) -> Limits {
        Limits {
            warn_percent: settings.warn_percent.unwrap_or(self.default_limits.warn_percent),
            critical_percent: settings.critical_percent.unwrap_or(self.default_limits.critical_percent),
            commitment: settings.commitment.unwrap_or(self.default_limits.commitment),
        }
    }

    /// Refuses a request that would exceed the limit of the volumes' total size.
    pub(crate) fn check_commitment(&self, needed_bytes: u64) -> Result<(), ControlError> {
        let Commitment::Percent(percent) = self.limits().commitment else { return Ok(()) };
        let pool = self.pool();
        let limit = u128::from(pool.space.size_bytes) * u128::from(percent) / 100;
        let limit_bytes = u64::try_from(limit).unwrap_or(u64::MAX);
        let provisioned_bytes = pool.provisioned_bytes;
        if needed_bytes > 0 && u128::from(provisioned_bytes) + u128::from(needed_bytes) > limit {
            return Err(ControlError::OverCommitted { provisioned_bytes, needed_bytes, limit_bytes, percent });
        }
        Ok(())
    }
}

impl Limits {
    /// Errors: a sentence about the invalid value.
    pub fn check(&self) -> Result<(), String> {
        let Self { warn_percent, critical_percent, commitment } = *self;
        if !(1..=100).contains(&warn_percent) || !(1..=100).contains(&critical_percent) {
            return Err("thresholds are 1 to 100 percent".to_owned());
        }
        if warn_percent > critical_percent {
            return Err(format!(
                "the pool cannot warn at {warn_percent} % when it is critical at {critical_percent} %: critical is not below warn"
            ));
        }
        match commitment {
            Commitment::Percent(0 | MAX_COMMITMENT_PERCENT..) => {
                Err(format!("a limit of over-commitment is 1 to {} percent, or off", MAX_COMMITMENT_PERCENT - 1))
            }
            _ => Ok(()),
        }
    }
}

/// Length as a `u64`.
pub(crate) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
