//! OPEN, CLOSE and stateids, RFC 8881 §8 and §18.16.

mod anonymous;
mod bad_share;
mod by_handle;
mod closed;
mod current_stateid;
mod denied;
mod downgrade;
mod exclusive;
mod guarded;
mod no_file;
mod read;
mod special_stateids;
mod test_stateid;
mod unchecked_truncates;
mod upgrade;
mod versions_of_a_stateid;
mod wrong_stateid;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &anonymous::CHECK,
    &bad_share::CHECK,
    &by_handle::CHECK,
    &closed::CHECK,
    &current_stateid::CHECK,
    &denied::CHECK,
    &downgrade::CHECK,
    &exclusive::CHECK,
    &guarded::CHECK,
    &no_file::CHECK,
    &read::CHECK,
    &special_stateids::CHECK,
    &test_stateid::CHECK,
    &unchecked_truncates::CHECK,
    &upgrade::CHECK,
    &versions_of_a_stateid::CHECK,
    &wrong_stateid::CHECK,
];
