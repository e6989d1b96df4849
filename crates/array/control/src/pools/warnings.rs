//! The present state of the pool, and warnings about the consequences of a change for its space.

use super::thresholds::percent;
use crate::control::Control;
use crate::pools::PoolView;
use crate::pools::limits::Limits;
use crate::pools::record::Commitment;
use crate::pools::state::{PoolState, Warning};

impl Control {
    /// State of the pool. It agrees with the alerts, which end only some way below a threshold.
    pub(super) fn pool_state(&self) -> PoolState {
        let has_findings = self.pool().last_check().is_some_and(|check| check.count > 0);
        if self.live().pool_stopped().is_some() {
            PoolState::Stopped
        } else if self.catalog().space().full_below {
            PoolState::BelowFull
        } else if self.pool_is_full() {
            PoolState::Full
        } else if self.pool().integrity.is_damaged() || has_findings {
            PoolState::Damaged
        } else if self.pool_threshold().is_some() {
            PoolState::LowSpace
        } else {
            PoolState::Healthy
        }
    }

    /// Warnings for a request that lets volumes write more than before.
    pub(crate) fn space_warnings(&self) -> Vec<Warning> {
        let pool = self.pool_facts();
        let name = &pool.name;
        let (code, message) = match pool.state {
            PoolState::Healthy | PoolState::Damaged => return Vec::new(),
            PoolState::LowSpace => {
                let used = pool.space.used_bytes.saturating_add(pool.space.promised_bytes);
                let share = percent(used, pool.space.size_bytes);
                ("low-space", format!("pool {name} is low on space: {share} % of it is used or promised"))
            }
            PoolState::Full => ("pool-full", format!("pool {name} is full: writes that need new space fail")),
            PoolState::BelowFull => {
                let message = "is full: writes that need new space fail";
                ("below-full", format!("the file system or device below pool {name} {message}"))
            }
            PoolState::Stopped => ("pool-stopped", format!("pool {name} has stopped: nothing can be written")),
        };
        vec![Warning { code, message }]
    }

    /// Warnings for a change of the pool's limits.
    pub(super) fn limit_warnings(&self, limits: &Limits, pool: &PoolView) -> Vec<Warning> {
        let Commitment::Percent(limit) = limits.commitment else { return Vec::new() };
        let share = percent(pool.provisioned_bytes, pool.space.size_bytes);
        if share <= u64::from(limit) {
            return Vec::new();
        }
        let message = format!(
            "the volumes have {share} % of pool {} together, above the limit of {limit} %: no volume can be created or grown",
            pool.name
        );
        vec![Warning { code: "over-commitment", message }]
    }
}
