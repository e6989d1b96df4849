//! COPY OPERATION ABORT of a list identifier that no operation has is refused at its place.

use super::super::prelude::*;
use super::support::*;

pub(super) const CHECK: Check = Check {
    number: 209,
    name: "beyond/abort_of_nothing",
    section: "SPC-4 §6.3",
    asks: "COPY OPERATION ABORT of a list identifier that no operation has is refused at its place.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.ask(A, token::copy_operation_abort(0x7777_7777))?;
    if answer.is(0x05, 0x20, 0x00) {
        return skipped("no third-party copy");
    }
    answer.check_condition(0x05, 0x24, 0x00)?.done()
}
