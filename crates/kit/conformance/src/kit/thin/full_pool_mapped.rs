use super::super::prelude::*;

check! {
    /// With a full pool mapped blocks are written, read, and compared and written.
    125, "SBC-3 §4.7.3.6", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.rewind();
    let lba = bench.scratch(8)?;
    let (old, new, last) = (bench.pattern(8), bench.pattern(8), bench.pattern(1));
    bench.write(A, lba, &old)?;
    with_full_pool(bench, |bench, _| {
        bench.write(A, lba, &new)?;
        bench.expect_content(A, lba, &new)?;
        caw(bench, A, lba, &new[..BLOCK], &last)?.good()?.done()
    })?;
    bench.expect_content(A, lba, &last)?;
    Ok(())
}
