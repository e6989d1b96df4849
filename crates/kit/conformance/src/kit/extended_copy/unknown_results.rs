//! RECEIVE COPY RESULTS with a service action that is not there is refused.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 98,
    name: "extended_copy/unknown_results",
    section: "SPC-4 §4.5",
    asks: "RECEIVE COPY RESULTS with a service action that is not there is refused.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::receive_copy_results(0x1F, 0, 255), 255)?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
