//! Checks beyond other suites and beyond the needs of VMware's hosts; numbers from 200. Third-party
//! copies between two logical units, with list identifiers of four bytes, with reservations and
//! write protection on either end, and their failure details; ROD tokens.

mod abort_of_nothing;
mod copy_page;
mod destination_protected;
mod failure_details;
mod held_data;
mod lba_status_after_copy;
mod lid4_copy;
mod lid4_failure;
mod lid4_immediate;
mod segments_in_order;
mod source_protected;
mod source_reserved;
mod support;
mod token_deleted;
mod token_destination_reserved;
mod token_expired;
mod token_forged;
mod token_of_another_host;
mod token_offset;
mod token_over_another_path;
mod token_point_in_time;
mod token_ranges;
mod token_revoked;
mod verify_segment;
mod write_waiting_for_data;
mod zero_token;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &abort_of_nothing::CHECK,
    &copy_page::CHECK,
    &destination_protected::CHECK,
    &failure_details::CHECK,
    &held_data::CHECK,
    &lba_status_after_copy::CHECK,
    &lid4_copy::CHECK,
    &lid4_failure::CHECK,
    &lid4_immediate::CHECK,
    &segments_in_order::CHECK,
    &source_protected::CHECK,
    &source_reserved::CHECK,
    &token_deleted::CHECK,
    &token_destination_reserved::CHECK,
    &token_expired::CHECK,
    &token_forged::CHECK,
    &token_of_another_host::CHECK,
    &token_offset::CHECK,
    &token_over_another_path::CHECK,
    &token_point_in_time::CHECK,
    &token_ranges::CHECK,
    &token_revoked::CHECK,
    &verify_segment::CHECK,
    &write_waiting_for_data::CHECK,
    &zero_token::CHECK,
];
