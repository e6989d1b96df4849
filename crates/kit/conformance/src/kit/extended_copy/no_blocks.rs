use super::super::prelude::*;

check! {
    /// A segment of no blocks does nothing and succeeds.
    79, "SPC-4 §6.3.7.5", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, old) = source(bench, 8)?;
    let list = within(bench, lba + 2048, lba, 0)?;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
