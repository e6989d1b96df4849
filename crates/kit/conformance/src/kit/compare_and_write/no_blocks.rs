//! COMPARE AND WRITE of no blocks does nothing and succeeds.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 40,
    name: "compare_and_write/no_blocks",
    section: "SBC-3 §5.2",
    asks: "COMPARE AND WRITE of no blocks does nothing and succeeds.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    bench.ask(A, cdb::compare_and_write(lba, 0))?.good()?;
    Ok(())
}
