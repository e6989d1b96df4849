//! Extended attributes, RFC 8276.

mod access;
mod list;
mod options;
mod set_and_get;
mod too_small;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] =
    &[&access::CHECK, &list::CHECK, &options::CHECK, &set_and_get::CHECK, &too_small::CHECK];
