//! OPERATING PARAMETERS with an allocation length of 8 keep their AVAILABLE DATA.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 94,
    name: "extended_copy/operating_parameters_truncated",
    section: "SPC-4 §6.26",
    asks: "OPERATING PARAMETERS with an allocation length of 8 keep their AVAILABLE DATA.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let whole = parameters(bench)?;
    let answer = bench.fetch(A, cdb::receive_copy_results(3, 0, 8), 8)?.good()?.length(8)?;
    answer.bytes(0, whole.data().get(..8).unwrap_or_default())?;
    Ok(())
}
