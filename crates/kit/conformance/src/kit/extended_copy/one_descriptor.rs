use super::super::prelude::*;

check! {
    /// A copy within one logical unit with one CSCD descriptor and both indexes 0.
    62, "SPC-4 §6.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 2048)?;
    let list = within(bench, lba, lba + 2048, 2048)?;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
