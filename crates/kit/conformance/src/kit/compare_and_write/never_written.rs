use super::super::prelude::*;

check! {
    /// An unmapped block compares as zeros; ESXi locks blocks that were never written.
    39, "SBC-3 §4.7.4, §5.2", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    bench.clear(A, lba, 2048)?;
    let new = bench.pattern(1);
    caw(bench, A, lba, &[0; BLOCK], &new)?.good()?;
    bench.expect_content(A, lba, &new)?;
    Ok(())
}
