use super::super::prelude::*;

check! {
    /// WRITE SAME (16) of A5h bytes fills every block with the pattern.
    101, "SBC-3 §5.46", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    bench.send_data(A, cdb::write_same16(lba, 2048, false, false), vec![0xA5; BLOCK])?.good()?;
    bench.expect_content(A, lba, &vec![0xA5; 2048 * BLOCK])?;
    Ok(())
}
