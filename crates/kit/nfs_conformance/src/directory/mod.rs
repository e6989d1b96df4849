//! READDIR, RFC 8881 §18.23.

mod no_directory;
mod reply_size;
mod reserved_cookies;
mod too_small;
mod whole;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] =
    &[&no_directory::CHECK, &reply_size::CHECK, &reserved_cookies::CHECK, &too_small::CHECK, &whole::CHECK];
