use super::super::prelude::*;

check! {
    /// ABORT TASK of a running WRITE is complete, no SCSI Response follows it, and the data are
    /// stable.
    143, "SAM-5 §7.2; RFC 7143 §11.6", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    for _ in 0..20 {
        bench.check_stopped()?;
        let data = bench.pattern(2048);
        let task = bench.submit(A, cdb::write16(lba, 2048, false), TransferRequest::Out(data.into()))?;
        let response = bench.manage(A, TaskManagementFunction::ABORT_TASK, Some(task))?;
        expect(response.0 <= 1, || format!("ABORT TASK: expected response 0, found {}", response.0))?;
        // The answer may have arrived before the response of the task management function.
        let finished = bench.wait_for(task, Duration::ZERO)?.is_some();
        if !finished && let Some(late) = bench.wait_for(task, Duration::from_millis(20))? {
            return failed(format!("expected no answer to a task after its ABORT TASK, found {}", late.found()));
        }
        bench.forget(task);
        let first = bench.read(A, lba, 2048)?;
        bench.expect_content(A, lba, &first)?;
    }
    Ok(())
}
