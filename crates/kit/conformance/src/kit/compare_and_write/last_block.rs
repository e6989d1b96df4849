//! The last block of the logical unit can be compared and written.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 42,
    name: "compare_and_write/last_block",
    section: "SBC-3 §5.2",
    asks: "The last block of the logical unit can be compared and written.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.capacity(A)? - 1;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    caw(bench, A, lba, &old, &new)?.good()?;
    bench.expect_content(A, lba, &new)?;
    Ok(())
}
