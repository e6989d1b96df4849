use super::super::prelude::*;

check! {
    /// A READ beside COMPARE AND WRITE commands finds a whole image, never a mixture.
    47, "SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let mut old = bench.pattern(1);
    bench.write(A, lba, &old)?;
    for _ in 0..200 {
        bench.check_stopped()?;
        let new = bench.pattern(1);
        let task = submit(bench, A, lba, &old, &new)?;
        let read = bench.submit(B, cdb::read16(lba, 1), TransferRequest::In(512))?;
        let found = bench.wait(read)?.good()?;
        bench.wait(task)?.good()?;
        let whole = found.data()[..] == old[..] || found.data()[..] == new[..];
        expect(whole, || format!("expected the old or the new image, found a mixture: {}", hex(found.data())))?;
        old = new;
    }
    Ok(())
}
