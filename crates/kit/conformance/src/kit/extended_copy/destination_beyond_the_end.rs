use super::super::prelude::*;

check! {
    /// A destination range beyond the end aborts the copy.
    78, "SPC-4 §6.3.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 2048)?;
    let capacity = bench.capacity(A)?;
    let list = within(bench, lba, capacity - 1, 2048)?;
    copy(bench, A, list)?.key(0x0A)?;
    Ok(())
}
