//! Thresholds of a pool and the limit of its over-commitment.

use crate::pools::record::Commitment;

/// Largest limit of over-commitment.
pub(super) const MAX_COMMITMENT_PERCENT: u32 = 1_000_000;

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
