//! Operations of NFSv4.2, RFC 7862.

mod allocate;
pub(crate) mod asynchronous;
mod asynchronous_copy;
mod bad_ranges;
mod cancel;
mod clone;
mod clone_in_one_file;
mod clone_unaligned;
mod copy;
mod copy_beyond_the_source;
mod copy_callback;
mod deallocate;
mod foreign_copies;
mod many_copies;
mod open_modes;
mod read_plus;
mod read_plus_at_the_end;
mod referring_call;
mod seek;
mod special_stateids;
mod status;
mod status_of_an_ended_copy;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &allocate::CHECK,
    &asynchronous_copy::CHECK,
    &bad_ranges::CHECK,
    &cancel::CHECK,
    &clone::CHECK,
    &clone_in_one_file::CHECK,
    &clone_unaligned::CHECK,
    &copy::CHECK,
    &copy_beyond_the_source::CHECK,
    &copy_callback::CHECK,
    &deallocate::CHECK,
    &foreign_copies::CHECK,
    &many_copies::CHECK,
    &open_modes::CHECK,
    &read_plus::CHECK,
    &read_plus_at_the_end::CHECK,
    &referring_call::CHECK,
    &seek::CHECK,
    &special_stateids::CHECK,
    &status::CHECK,
    &status_of_an_ended_copy::CHECK,
];
