//! Operations of NFSv4.2, RFC 7862.

mod allocate;
mod bad_ranges;
mod clone;
mod clone_in_one_file;
mod clone_unaligned;
mod copy;
mod copy_beyond_the_source;
mod deallocate;
mod open_modes;
mod read_plus;
mod read_plus_at_the_end;
mod seek;
mod special_stateids;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &allocate::CHECK,
    &bad_ranges::CHECK,
    &clone::CHECK,
    &clone_in_one_file::CHECK,
    &clone_unaligned::CHECK,
    &copy::CHECK,
    &copy_beyond_the_source::CHECK,
    &deallocate::CHECK,
    &open_modes::CHECK,
    &read_plus::CHECK,
    &read_plus_at_the_end::CHECK,
    &seek::CHECK,
    &special_stateids::CHECK,
];
