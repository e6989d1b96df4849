use super::super::prelude::*;

check! {
    /// DC=1 counts in blocks of the destination, which is the same when they have one size.
    80, "SPC-4 §6.3.7.5", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, data) = source(bench, 64)?;
    let mut list = within(bench, lba, lba + 2048, 64)?;
    list[49] |= 0x02;
    copy(bench, A, list)?.good()?;
    bench.expect_content(A, lba + 2048, &data)?;
    Ok(())
}
