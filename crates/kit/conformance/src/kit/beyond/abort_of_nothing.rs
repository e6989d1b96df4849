use super::super::prelude::*;
use super::support::*;

check! {
    /// COPY OPERATION ABORT of a list identifier without an operation is refused with INVALID FIELD
    /// IN CDB.
    209, "SPC-4 §6.3", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let answer = bench.ask(A, token::copy_operation_abort(0x7777_7777))?;
    if answer.is(0x05, 0x20, 0x00) {
        return skipped("no third-party copy");
    }
    answer.check_condition(0x05, 0x24, 0x00)?.done()
}
