//! TASK REASSIGN is not supported.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 147,
    name: "task_management/task_reassign",
    section: "RFC 7143 §11.6.1",
    asks: "TASK REASSIGN is not supported.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let response = bench.manage(A, TaskManagementFunction(8), None)?;
    expect([4, 5].contains(&response.0), || format!("TASK REASSIGN: expected response 4 or 5, found {}", response.0))?;
    Ok(())
}
