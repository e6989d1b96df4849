//! READDIR, RFC 8881 §18.23.

mod no_directory;
mod reserved_cookies;
mod too_small;
mod whole;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] =
    &[&no_directory::CHECK, &reserved_cookies::CHECK, &too_small::CHECK, &whole::CHECK];
