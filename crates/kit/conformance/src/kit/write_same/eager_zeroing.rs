use super::super::prelude::*;

check! {
    /// Zeroing as for an eager-zeroed disk: commands of 1 MiB, 32 at once, a GiB of them within a
    /// few seconds.
    111, "SBC-3 §5.46", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let wanted = if bench.options().thorough { 1024 } else { 128 };
    let commands = wanted.min(bench.capacity(A)? / 2048);
    let lba = bench.scratch(commands * 2048)?;
    let started = Instant::now();
    let starts: Vec<_> = (0..commands).map(|index| lba + index * 2048).collect();
    for batch in starts.chunks(32) {
        bench.check_stopped()?;
        let mut tasks = Vec::new();
        for at in batch {
            let zeros = TransferRequest::Out(vec![0; BLOCK].into());
            tasks.push(bench.submit(A, cdb::write_same16(*at, 2048, false, false), zeros)?);
        }
        for task in tasks {
            bench.wait(task)?.good()?;
        }
    }
    let (elapsed, limit) = (started.elapsed(), Duration::from_secs(5));
    expect(elapsed <= limit, || format!("{commands} MiB: expected at most {limit:?}, found {elapsed:?}"))?;
    bench.expect_content(A, lba + (commands - 1) * 2048, &vec![0; 2048 * BLOCK])?;
    Ok(())
}
