//! The pool: its space, its settings, growth.

use crate::record::Document;
use crate::thresholds::FULL_BYTES;
use crate::unique::Patience;
use crate::{
    Change, Commitment, Control, ControlError, Directory, Limits, Noun, PoolRecord, PoolSet, PoolState, PoolView, Reply,
};
use pool::{Growth, ObjectKind};

/// Largest limit of over-commitment.
const MAX_COMMITMENT_PERCENT: u32 = 1_000_000;

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

    pub(crate) async fn pool_show(&self, name: &str) -> Result<PoolView, ControlError> {
        self.check_pool_name(name)?;
        Ok(self.counted_pool(&mut self.patience()).await)
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

    pub(crate) async fn pool_set(&self, set: PoolSet) -> Result<Reply, ControlError> {
        self.check_pool_name(&set.pool)?;
        let _changes = self.lock_changes().await;
        let settings = self.settings.borrow().clone();
        let settings = PoolRecord {
            warn_percent: set.warn_percent.or(settings.warn_percent),
            critical_percent: set.critical_percent.or(settings.critical_percent),
            commitment: set.commitment.or(settings.commitment),
        };
        let limits = self.limits_of(&settings);
        limits.check().map_err(ControlError::InvalidSetting)?;
        let before = self.limits();
        let shown = |limits: &Limits| (limits.warn_percent, limits.critical_percent);
        let changed = (shown(&before) != shown(&limits)).then_some(Change::ThresholdsChanged { object: None });
        let put = settings.put()?;
        let apply = |_: &mut Directory| {
            self.settings.replace(settings);
        };
        self.commit(vec![put], apply, changed.as_slice()).await?;
        Ok(Reply::Pool(Box::new(self.counted_pool(&mut self.patience()).await)))
    }

    pub(crate) async fn pool_grow(&self, pool: &str, growth: Growth) -> Result<Reply, ControlError> {
        self.check_pool_name(pool)?;
        if let Growth::Device(path) = &growth
            && !path.is_absolute()
        {
            let reason = format!("{} is not an absolute path on the array's machine", path.display());
            return Err(ControlError::CannotGrow { reason });
        }
        let _changes = self.lock_changes().await;
        self.catalog.grow(growth).await.map_err(|error| self.pool_error(error))?;
        Ok(Reply::Pool(Box::new(self.counted_pool(&mut self.patience()).await)))
    }

    /// Refuses what would let the volumes have more together than the limit allows.
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
    /// Errors: a sentence about what makes no sense.
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

/// A length as a number to show.
pub(crate) fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
