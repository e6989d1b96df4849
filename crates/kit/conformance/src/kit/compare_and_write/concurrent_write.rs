use super::super::prelude::*;

check! {
    /// With a WRITE of the block at the same time the result is that of one of the two orders.
    48, "SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    for _ in 0..100 {
        let (old, new, written) = (bench.pattern(1), bench.pattern(1), bench.pattern(1));
        bench.write(A, lba, &old)?;
        let write = bench.submit(B, cdb::write16(lba, 1, false), TransferRequest::Out(written.clone().into()))?;
        let task = submit(bench, A, lba, &old, &new)?;
        bench.wait(write)?.good()?;
        won(bench.wait(task)?)?;
        // If it compares first, the WRITE overwrites it; if it compares after the WRITE, it
        // miscompares.
        bench.expect_content(A, lba, &written)?;
    }
    Ok(())
}
