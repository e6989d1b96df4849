//! Byte-range locks, RFC 8881 §9 and §18.10.

mod conflict;
mod ranges;
mod unlock_in_the_middle;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[&conflict::CHECK, &ranges::CHECK, &unlock_in_the_middle::CHECK];
