use super::super::prelude::*;

check! {
    /// WRITE SAME (16) across the end is out of range and writes nothing.
    104, "SBC-3 §5.46", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let last = bench.capacity(A)? - 1;
    let old = bench.pattern(1);
    bench.write(A, last, &old)?;
    bench.send_data(A, cdb::write_same16(last, 2, false, false), vec![0; BLOCK])?.check_condition(0x05, 0x21, 0x00)?;
    bench.expect_content(A, last, &old)?;
    Ok(())
}
