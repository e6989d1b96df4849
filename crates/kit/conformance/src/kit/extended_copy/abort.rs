use super::super::prelude::*;

check! {
    /// After ABORT TASK of a copy is answered, the copy writes nothing more.
    92, "SAM-5 §7.2; SPC-4 §6.3.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 2048)?;
    let list = within(bench, lba, lba + 2048, 2048)?;
    for _ in 0..10 {
        let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
        let task = bench.submit(A, cdb::extended_copy(length), TransferRequest::Out(list.clone().into()))?;
        let response = bench.manage(A, TaskManagementFunction::ABORT_TASK, Some(task))?;
        expect(response.0 <= 1, || format!("ABORT TASK: expected response 0 (or 1), found {}", response.0))?;
        bench.forget(task);
        let new = bench.pattern(2048);
        bench.write(A, lba + 2048, &new)?;
        std::thread::sleep(Duration::from_millis(5));
        bench.expect_content(A, lba + 2048, &new)?;
    }
    Ok(())
}
