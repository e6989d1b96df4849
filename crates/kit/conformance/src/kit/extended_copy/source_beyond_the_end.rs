use super::super::prelude::*;

check! {
    /// A source range beyond the end aborts the copy, and nothing is written.
    77, "SPC-4 §6.3.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, old) = source(bench, 8)?;
    let capacity = bench.capacity(A)?;
    let list = within(bench, capacity - 4, lba, 8)?;
    copy(bench, A, list)?.key(0x0A)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
