use super::super::prelude::*;

check! {
    /// WRITE SAME (16) on a logical unit that another nexus has reserved is a reservation conflict.
    110, "SPC-2 §5.5.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8)?;
    let old = bench.pattern(8);
    bench.write(A, lba, &old)?;
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.send_data(B, cdb::write_same16(lba, 8, false, false), vec![0; BLOCK])?.conflict()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
