//! An operation code that is not there is refused.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 36,
    name: "discovery/unknown_operation_code",
    section: "SPC-4 §4.5",
    asks: "An operation code that is not there is refused.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0xE7]))?.check_condition(0x05, 0x20, 0x00)?;
    Ok(())
}
