use super::super::prelude::*;

check! {
    /// ABORT TASK of a finished task: the task does not exist, or the function is complete.
    145, "RFC 7143 §11.6.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let task = bench.submit(A, cdb::inquiry(None, 36), TransferRequest::In(36))?;
    bench.wait(task)?.good()?;
    let response = bench.manage(A, TaskManagementFunction::ABORT_TASK, Some(task))?;
    expect(response.0 <= 1, || format!("ABORT TASK: expected response 0 or 1, found {}", response.0))?;
    Ok(())
}
