use super::super::prelude::*;

check! {
    /// With a full pool a mapped block can still be compared and written: the locks of a file
    /// system live there.
    57, "SBC-3 §4.7.3.6", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.rewind();
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    with_full_pool(bench, |bench, _| caw(bench, A, lba, &old, &new)?.good()?.done())?;
    bench.expect_content(A, lba, &new)?;
    Ok(())
}
