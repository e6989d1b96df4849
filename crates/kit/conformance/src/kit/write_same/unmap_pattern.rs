use super::super::prelude::*;

check! {
    /// WRITE SAME (16) with UNMAP of data that are not zeros keeps the data.
    107, "SBC-3 §5.46, §4.7.3.4", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    bench.send_data(A, cdb::write_same16(lba, 2048, true, false), vec![0x3C; BLOCK])?.good()?;
    bench.expect_content(A, lba, &vec![0x3C; 2048 * BLOCK])?;
    Ok(())
}
