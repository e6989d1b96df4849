use super::super::prelude::*;

check! {
    /// A COMPARE AND WRITE that was aborted with "function complete" has happened or never will:
    /// the retry shows which, and the content stays.
    54, "SAM-5 §7.2; SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    for _ in 0..50 {
        bench.check_stopped()?;
        let (old, new, last) = (bench.pattern(1), bench.pattern(1), bench.pattern(1));
        bench.write(A, lba, &old)?;
        let task = submit(bench, A, lba, &old, &new)?;
        let response = bench.manage(A, TaskManagementFunction::ABORT_TASK, Some(task))?;
        expect(response.0 <= 1, || format!("ABORT TASK: expected response 0 (or 1), found {}", response.0))?;
        bench.forget(task);
        let before = bench.read(A, lba, 1)?;
        let won = won(caw(bench, A, lba, &old, &new)?)?;
        expect_equal("retry succeeds exactly when the block was still old", won, before == old)?;
        caw(bench, A, lba, &new, &last)?.good()?;
        std::thread::sleep(Duration::from_millis(2));
        bench.expect_content(A, lba, &last)?;
    }
    Ok(())
}
