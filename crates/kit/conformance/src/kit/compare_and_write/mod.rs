//! COMPARE AND WRITE (89h), SBC-3 §5.2: its results, and its atomicity beside all other commands.

mod abort_and_retry;
mod beyond_the_end;
mod concurrent_copy;
mod concurrent_read;
mod concurrent_unmap;
mod concurrent_write;
mod connection_cut;
mod equal;
mod failover;
mod force_unit_access;
mod full_pool_mapped;
mod full_pool_unmapped;
mod heartbeats;
mod last_block;
mod miscompare;
mod never_written;
mod no_blocks;
mod one_winner;
mod persistent_reservation;
mod reserve_meanwhile;
mod reserved_by_another;
pub(super) mod support;
mod too_many_blocks;
mod wrong_length;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &abort_and_retry::CHECK,
    &beyond_the_end::CHECK,
    &concurrent_copy::CHECK,
    &concurrent_read::CHECK,
    &concurrent_unmap::CHECK,
    &concurrent_write::CHECK,
    &connection_cut::CHECK,
    &equal::CHECK,
    &failover::CHECK,
    &force_unit_access::CHECK,
    &full_pool_mapped::CHECK,
    &full_pool_unmapped::CHECK,
    &heartbeats::CHECK,
    &last_block::CHECK,
    &miscompare::CHECK,
    &never_written::CHECK,
    &no_blocks::CHECK,
    &one_winner::CHECK,
    &persistent_reservation::CHECK,
    &reserve_meanwhile::CHECK,
    &reserved_by_another::CHECK,
    &too_many_blocks::CHECK,
    &wrong_length::CHECK,
];
