use super::super::prelude::*;

check! {
    /// Data written after an UNMAP is present after a crash.
    120, "SBC-3 §4.7.3.4, §4.10", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let (old, new) = (bench.pattern(2048), bench.pattern(64));
    bench.write(A, lba, &old)?;
    unmap(bench, A, &[(lba, 2048)])?.good()?;
    bench.write(A, lba + 100, &new)?;
    bench.ask(A, cdb::synchronize_cache16(0, 0))?.good()?;
    bench.hook(&["kill"])?;
    bench.cut_all();
    let mut expected = vec![0; 2048 * BLOCK];
    expected[100 * BLOCK..164 * BLOCK].copy_from_slice(&new);
    bench.expect_content(A, lba, &expected)?;
    Ok(())
}
