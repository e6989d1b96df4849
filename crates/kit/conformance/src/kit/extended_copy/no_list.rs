//! PARAMETER LIST LENGTH 0 does nothing and succeeds.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 67,
    name: "extended_copy/no_list",
    section: "SPC-4 §6.3.1",
    asks: "PARAMETER LIST LENGTH 0 does nothing and succeeds.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::extended_copy(0))?.good()?;
    Ok(())
}
