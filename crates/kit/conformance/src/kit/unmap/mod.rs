//! UNMAP (42h), SBC-3 §5.28, and GET LBA STATUS.

mod aligned;
mod anchor;
mod cut_list;
mod lba_status;
mod many_descriptors;
mod nothing;
mod reclaim_burst;
mod second_beyond_the_end;
mod shared_with_a_snapshot;
pub(super) mod support;
mod too_many_descriptors;
mod unaligned;
mod write_then_crash;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &aligned::CHECK,
    &anchor::CHECK,
    &cut_list::CHECK,
    &lba_status::CHECK,
    &many_descriptors::CHECK,
    &nothing::CHECK,
    &reclaim_burst::CHECK,
    &second_beyond_the_end::CHECK,
    &shared_with_a_snapshot::CHECK,
    &too_many_descriptors::CHECK,
    &unaligned::CHECK,
    &write_then_crash::CHECK,
];
