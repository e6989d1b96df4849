use super::super::prelude::*;

check! {
    /// WRITE SAME (10) of a block of zeros makes 1 MiB read as zeros.
    109, "SBC-3 §5.45", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(2048);
    bench.write(A, lba, &data)?;
    let [.., b3, b2, b1, b0] = lba.to_be_bytes();
    bench.send_data(A, cdb::padded(&[0x41, 0, b3, b2, b1, b0, 0, 0x08, 0x00]), vec![0; BLOCK])?.good()?;
    bench.expect_content(A, lba, &vec![0; 2048 * BLOCK])?;
    Ok(())
}
