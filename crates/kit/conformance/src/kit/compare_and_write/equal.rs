use super::super::prelude::*;

check! {
    /// COMPARE AND WRITE of a block that is equal writes it.
    37, "SBC-3 §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    caw(bench, A, lba, &old, &new)?.good()?.residual(0)?;
    bench.expect_content(A, lba, &new)?;
    Ok(())
}
