use super::super::prelude::*;

check! {
    /// A segment that names a missing CSCD descriptor aborts the copy.
    74, "SPC-4 §6.3.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (lba, _) = source(bench, 8)?;
    let mut list = within(bench, lba, lba + 2048, 8)?;
    list[48 + 7] = 1;
    copy(bench, A, list)?.key(0x0A)?;
    Ok(())
}
