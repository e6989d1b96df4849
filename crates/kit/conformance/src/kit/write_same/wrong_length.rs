//! WRITE SAME (16) with two blocks of Data-Out is refused and writes nothing.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 108,
    name: "write_same/wrong_length",
    section: "SBC-3 §5.46; RFC 7143 §11.4.5",
    asks: "WRITE SAME (16) with two blocks of Data-Out is refused and writes nothing.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(8)?;
    let old = bench.pattern(8);
    bench.write(A, lba, &old)?;
    bench.give(A, cdb::write_same16(lba, 8, false, false), vec![0; 2 * BLOCK])?.key(0x05)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
