//! Operations of NFSv4.2, RFC 7862.

mod allocate;
mod clone;
mod clone_unaligned;
mod copy;
mod deallocate;
mod read_plus;
mod seek;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &allocate::CHECK,
    &clone::CHECK,
    &clone_unaligned::CHECK,
    &copy::CHECK,
    &deallocate::CHECK,
    &read_plus::CHECK,
    &seek::CHECK,
];
