use super::super::prelude::*;

check! {
    /// UNMAP with as many descriptors as are announced (256 at most here) unmaps all of them.
    113, "SBC-3 §5.28, §6.6.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let most = bench.fetch(A, cdb::inquiry(Some(0xB0), 64), 64)?.good()?.number(24, 4)?.min(256);
    let lba = bench.scratch(most * 16)?;
    let blocks = usize::try_from(most * 16).unwrap_or(0);
    let mut expected = bench.pattern(blocks);
    bench.write(A, lba, &expected)?;
    let ranges: Vec<_> = (0..most).map(|index| (lba + index * 16, 8)).collect();
    unmap(bench, A, &ranges)?.good()?;
    for sixteen in expected.chunks_mut(16 * BLOCK) {
        sixteen[..8 * BLOCK].fill(0);
    }
    bench.expect_content(A, lba, &expected)?;
    Ok(())
}
