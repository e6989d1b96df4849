//! Extended attributes, RFC 8276.

mod list;
mod options;
mod set_and_get;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[&list::CHECK, &options::CHECK, &set_and_get::CHECK];
