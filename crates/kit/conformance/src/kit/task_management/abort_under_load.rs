use super::super::prelude::*;

check! {
    /// ABORT TASK is answered within a second with a thousand commands in flight.
    149, "SAM-5 §7.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8192)?;
    let data = bench.pattern(8);
    let mut tasks = Vec::new();
    for index in 0..1000 {
        let cdb = cdb::write16(lba + index * 8, 8, false);
        tasks.push(bench.submit(A, cdb, TransferRequest::Out(data.clone().into()))?);
    }
    let Some(aborted) = tasks.pop() else { return Ok(()) };
    let sent = Instant::now();
    let response = bench.manage(A, TaskManagementFunction::ABORT_TASK, Some(aborted))?;
    let elapsed = sent.elapsed();
    expect(response.0 <= 1, || format!("ABORT TASK: expected response 0 or 1, found {}", response.0))?;
    expect(elapsed < Duration::from_secs(1), || {
        format!("ABORT TASK: expected an answer within 1 s, found {elapsed:?}")
    })?;
    bench.forget(aborted);
    for task in tasks {
        bench.wait(task)?.good()?;
    }
    Ok(())
}
