use super::super::prelude::*;

check! {
    /// Of concurrent COMPARE AND WRITE commands from three nexuses on one block exactly one wins
    /// each time; no update is lost.
    46, "SBC-3 §5.2; SAM-5 §5", needs: [Writes, SecondPortal]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let mut old = bench.pattern(1);
    bench.write(A, lba, &old)?;
    let paths = [A, B, A2];
    for round in 0..334 {
        bench.check_stopped()?;
        let news: Vec<_> = paths.iter().map(|_| bench.pattern(1)).collect();
        let mut tasks = Vec::new();
        for (path, new) in paths.iter().zip(&news) {
            tasks.push(submit(bench, *path, lba, &old, new)?);
        }
        let mut winners = Vec::new();
        for (task, new) in tasks.into_iter().zip(news) {
            if won(bench.wait(task)?)? {
                winners.push(new);
            }
        }
        let count = winners.len();
        match winners.pop() {
            Some(new) if count == 1 => old = new,
            _ => return failed(format!("round {round}: expected one winner, found {count}")),
        }
    }
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
