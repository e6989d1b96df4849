//! LOGICAL UNIT RESET of a LUN without a logical unit: the LUN does not exist.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 146,
    name: "task_management/reset_of_no_unit",
    section: "RFC 7143 §11.6.1",
    asks: "LOGICAL UNIT RESET of a LUN without a logical unit: the LUN does not exist.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let response = bench.manage(A.lun(NO_UNIT), TaskManagementFunction::LOGICAL_UNIT_RESET, None)?;
    expect_equal("response", response.0, 2)?;
    Ok(())
}
