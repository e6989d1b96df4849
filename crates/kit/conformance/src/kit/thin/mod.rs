//! Thin provisioning: a full pool, thresholds.

mod full_pool_mapped;
mod full_pool_write;
mod provisioning_log;
mod soft_threshold;
mod space_comes_back;
pub(super) mod support;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &full_pool_mapped::CHECK,
    &full_pool_write::CHECK,
    &provisioning_log::CHECK,
    &soft_threshold::CHECK,
    &space_comes_back::CHECK,
];
