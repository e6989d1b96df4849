use super::super::prelude::*;

check! {
    /// WRITE SAME (16) of a block of zeros makes 1 MiB read as zeros.
    100, "SBC-3 §5.46", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(4096)?;
    let data = bench.pattern(2050);
    bench.write(A, lba, &data)?;
    bench.send_data(A, cdb::write_same16(lba + 1, 2048, false, false), vec![0; BLOCK])?.good()?;
    let mut expected = data;
    expected[BLOCK..2049 * BLOCK].fill(0);
    bench.expect_content(A, lba, &expected)?;
    Ok(())
}
