use super::super::prelude::*;

check! {
    /// The last block of the logical unit can be compared and written.
    42, "SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.capacity(A)? - 1;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    caw(bench, A, lba, &old, &new)?.good()?;
    bench.expect_content(A, lba, &new)?;
    Ok(())
}
