use super::super::prelude::*;

check! {
    /// WRITE SAME (16) with two blocks of Data-Out is refused and writes nothing.
    108, "SBC-3 §5.46; RFC 7143 §11.4.5", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8)?;
    let old = bench.pattern(8);
    bench.write(A, lba, &old)?;
    bench.send_data(A, cdb::write_same16(lba, 8, false, false), vec![0; 2 * BLOCK])?.key(0x05)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
