//! Client ids, RFC 8881 §18.35 and §18.50.

mod destroy;
mod fence_operations;
mod flags_of_the_reply;
mod new_owner;
mod new_verifier;
mod opens_of_a_restarted_client;
mod other_principal;
mod owner_length;
mod same_verifier;
mod state_protection;
mod two_unconfirmed;
mod undefined_flags;
mod update;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &destroy::CHECK,
    &fence_operations::CHECK,
    &flags_of_the_reply::CHECK,
    &new_owner::CHECK,
    &new_verifier::CHECK,
    &opens_of_a_restarted_client::CHECK,
    &other_principal::CHECK,
    &owner_length::CHECK,
    &same_verifier::CHECK,
    &state_protection::CHECK,
    &two_unconfirmed::CHECK,
    &undefined_flags::CHECK,
    &update::CHECK,
];
