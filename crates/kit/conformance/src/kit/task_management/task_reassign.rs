use super::super::prelude::*;

check! {
    /// TASK REASSIGN is not supported.
    147, "RFC 7143 §11.6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let response = bench.manage(A, TaskManagementFunction(8), None)?;
    expect([4, 5].contains(&response.0), || format!("TASK REASSIGN: expected response 4 or 5, found {}", response.0))?;
    Ok(())
}
