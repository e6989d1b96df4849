//! Leases, grace and reclaim, RFC 8881 §8.4.

mod lapsed;
mod one_file_system;
mod open_before_reclaim_complete;
mod reclaim_complete;
mod reclaim_outside_grace;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &lapsed::CHECK,
    &one_file_system::CHECK,
    &open_before_reclaim_complete::CHECK,
    &reclaim_complete::CHECK,
    &reclaim_outside_grace::CHECK,
];
