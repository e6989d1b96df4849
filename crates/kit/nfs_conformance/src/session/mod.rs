//! Sessions, RFC 8881 §2.10: CREATE_SESSION, SEQUENCE, replays, bindings.

mod bad_slot;
mod bind;
mod create;
mod create_again;
mod create_out_of_order;
mod cut_anywhere;
mod destroy;
mod false_replay;
mod first_sequence;
mod limits;
mod new_connection;
mod out_of_order;
mod replay;
mod replay_not_kept;
mod replay_of_a_failure;
mod request_too_big;
mod small_back_channel;
mod status_flags;
mod too_small;
mod undefined_flags;
mod unknown_client;
mod unknown_session;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &bad_slot::CHECK,
    &bind::CHECK,
    &create::CHECK,
    &create_again::CHECK,
    &create_out_of_order::CHECK,
    &cut_anywhere::CHECK,
    &destroy::CHECK,
    &false_replay::CHECK,
    &first_sequence::CHECK,
    &limits::CHECK,
    &new_connection::CHECK,
    &out_of_order::CHECK,
    &replay::CHECK,
    &replay_not_kept::CHECK,
    &replay_of_a_failure::CHECK,
    &request_too_big::CHECK,
    &small_back_channel::CHECK,
    &status_flags::CHECK,
    &too_small::CHECK,
    &undefined_flags::CHECK,
    &unknown_client::CHECK,
    &unknown_session::CHECK,
];
