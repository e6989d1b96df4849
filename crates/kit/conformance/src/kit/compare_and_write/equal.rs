//! COMPARE AND WRITE of a block that is equal writes it.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 37,
    name: "compare_and_write/equal",
    section: "SBC-3 §5.2",
    asks: "COMPARE AND WRITE of a block that is equal writes it.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    caw(bench, A, lba, &old, &new)?.good()?.residual(0)?;
    bench.expect_content(A, lba, &new)?;
    Ok(())
}
