//! Task management functions, SAM-5 §7, over iSCSI.

mod abort_finished;
mod abort_finished_of_vmware;
mod abort_running_write;
mod abort_under_load;
mod reset_of_no_unit;
mod target_warm_reset;
mod task_reassign;

use super::check::Check;

pub(super) const CHECKS: &[&Check] = &[
    &abort_finished::CHECK,
    &abort_finished_of_vmware::CHECK,
    &abort_running_write::CHECK,
    &abort_under_load::CHECK,
    &reset_of_no_unit::CHECK,
    &target_warm_reset::CHECK,
    &task_reassign::CHECK,
];
