//! RESERVE and RELEASE of SPC-2, and persistent reservations.

mod all_registrants;
mod capabilities;
mod conflicting_commands;
mod nexus_loss;
mod other_port_of_the_host;
mod permitted_commands;
mod power_loss;
mod preempt_and_abort;
mod read_reservation;
mod release_by_another;
mod reserve;
mod reserve_again;
mod reserve_beside_registrations;
mod reset;
pub(super) mod support;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &all_registrants::CHECK,
    &capabilities::CHECK,
    &conflicting_commands::CHECK,
    &nexus_loss::CHECK,
    &other_port_of_the_host::CHECK,
    &permitted_commands::CHECK,
    &power_loss::CHECK,
    &preempt_and_abort::CHECK,
    &read_reservation::CHECK,
    &release_by_another::CHECK,
    &reserve::CHECK,
    &reserve_again::CHECK,
    &reserve_beside_registrations::CHECK,
    &reset::CHECK,
];

pub(super) use support::release_everything;
