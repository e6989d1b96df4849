use super::super::prelude::*;

check! {
    /// A reserved value in the obsolete LU ID TYPE is ignored.
    81, "SPC-4 §6.3.6.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 8)?;
    let mut list = within(bench, lba, lba + 2048, 8)?;
    list[17] |= 0xC0;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
