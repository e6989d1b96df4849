//! Content and attributes, RFC 8881 §5, §18.22 and §18.32.

mod bad_owner;
mod change;
mod commit;
mod cut_attributes;
mod empty_write;
mod file_too_big;
mod nanoseconds;
mod padded_bitmap;
mod read_at_the_end;
mod read_of_no_file;
mod read_only_attribute;
mod shrink_and_grow;
mod size_by_stateid;
mod stability;
mod supported_attributes;
mod unaligned_writes;
mod unknown_attributes;
mod write_behind_the_end;
mod write_only_attribute;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &bad_owner::CHECK,
    &change::CHECK,
    &commit::CHECK,
    &cut_attributes::CHECK,
    &empty_write::CHECK,
    &file_too_big::CHECK,
    &nanoseconds::CHECK,
    &padded_bitmap::CHECK,
    &read_at_the_end::CHECK,
    &read_of_no_file::CHECK,
    &read_only_attribute::CHECK,
    &shrink_and_grow::CHECK,
    &size_by_stateid::CHECK,
    &stability::CHECK,
    &supported_attributes::CHECK,
    &unaligned_writes::CHECK,
    &unknown_attributes::CHECK,
    &write_behind_the_end::CHECK,
    &write_only_attribute::CHECK,
];
