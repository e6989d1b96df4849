//! With a full pool a mapped block can still be compared and written: the locks of a file system live there.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 57,
    name: "compare_and_write/full_pool_mapped",
    section: "SBC-3 §4.7.3.6",
    asks: "With a full pool a mapped block can still be compared and written: the locks of a file system live there.",
    needs: &[Need::Writes, Need::Hook],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.rewind();
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    with_full_pool(bench, |bench, _| caw(bench, A, lba, &old, &new)?.good()?.done())?;
    bench.expect_content(A, lba, &new)?;
    Ok(())
}
