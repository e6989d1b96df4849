//! Byte-range locks, RFC 8881 §9 and §18.10.

mod change_of_kind;
mod conflict;
mod no_file;
mod open_for_reading;
mod ranges;
mod test;
mod to_the_end;
mod unlock_in_the_middle;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &change_of_kind::CHECK,
    &conflict::CHECK,
    &no_file::CHECK,
    &open_for_reading::CHECK,
    &ranges::CHECK,
    &test::CHECK,
    &to_the_end::CHECK,
    &unlock_in_the_middle::CHECK,
];
