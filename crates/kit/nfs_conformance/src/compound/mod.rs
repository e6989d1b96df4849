//! COMPOUND, RFC 8881 §16.2: framing, order and limits of operations.

mod change_without_room;
mod destroy_session_not_last;
mod empty;
mod exchange_id_in_session;
mod failure;
mod illegal;
mod later_minor_version;
mod minor_version;
mod minor_version_0_operations;
mod no_handle;
mod no_saved_handle;
mod not_in_session;
mod not_served;
mod only_operation;
mod reply_too_big;
mod restore;
mod sequence_again;
mod tag;
mod tag_without_utf8;
mod too_many_operations;
mod undecodable;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &change_without_room::CHECK,
    &destroy_session_not_last::CHECK,
    &empty::CHECK,
    &exchange_id_in_session::CHECK,
    &failure::CHECK,
    &illegal::CHECK,
    &later_minor_version::CHECK,
    &minor_version::CHECK,
    &minor_version_0_operations::CHECK,
    &no_handle::CHECK,
    &no_saved_handle::CHECK,
    &not_in_session::CHECK,
    &not_served::CHECK,
    &only_operation::CHECK,
    &reply_too_big::CHECK,
    &restore::CHECK,
    &sequence_again::CHECK,
    &tag::CHECK,
    &tag_without_utf8::CHECK,
    &too_many_operations::CHECK,
    &undecodable::CHECK,
];
