use super::super::prelude::*;

check! {
    /// A burst of UNMAP commands does not delay reads and writes: each within a second, none BUSY.
    122, "SBC-3 §5.28", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let duration = Duration::from_secs(if bench.options().thorough { 60 } else { 3 });
    let lba = bench.scratch(65_536)?;
    let mut place = 0;
    let started = Instant::now();
    while started.elapsed() < duration {
        bench.check_stopped()?;
        let mut tasks = Vec::new();
        for _ in 0..16 {
            let list = cdb::unmap_list(&[(lba + place * 2048, 2048)]);
            tasks.push(bench.submit(B, cdb::unmap(24), TransferRequest::Out(list.into()))?);
            place = (place + 1) % 31;
        }
        let data = bench.pattern(8);
        let sent = Instant::now();
        bench.write(A, lba + 31 * 2048, &data)?;
        bench.expect_content(A, lba + 31 * 2048, &data)?;
        let elapsed = sent.elapsed();
        expect(elapsed < Duration::from_secs(1), || {
            format!("WRITE and READ: expected less than 1 s, found {elapsed:?}")
        })?;
        for task in tasks {
            bench.wait(task)?.good()?;
        }
    }
    Ok(())
}
