use super::super::prelude::*;

check! {
    /// With overlapping ranges the destination becomes what the source was before the command,
    /// forwards and backwards.
    87, "SPC-4 §6.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    for (from, to) in [(0, 100), (100, 0)] {
        let (lba, data) = source(bench, 600)?;
        let list = within(bench, lba + from, lba + to, 500)?;
        copy(bench, A, list)?.good()?;
        let at = usize::try_from(from).unwrap_or(0) * BLOCK;
        bench.expect_content(A, lba + to, &data[at..at + 500 * BLOCK])?;
    }
    Ok(())
}
