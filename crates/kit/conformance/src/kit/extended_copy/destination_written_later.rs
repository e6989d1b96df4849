use super::super::prelude::*;

check! {
    /// A WRITE to the destination after the copy does not change the source.
    86, "SPC-4 §6.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let list = within(bench, lba, lba + 2048, 64)?;
    copy(bench, A, list)?.good()?;
    let new = bench.pattern(64);
    bench.write(A, lba + 2048, &new)?;
    bench.expect_content(A, lba, &data)?;
    Ok(())
}
