//! TEST UNIT READY to a LUN without a logical unit says so.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 5,
    name: "discovery/ready_of_no_unit",
    section: "SAM-5 §4.7.3; SPC-4 §4.5",
    asks: "TEST UNIT READY to a LUN without a logical unit says so.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A.lun(NO_UNIT), cdb::test_unit_ready())?.check_condition(0x05, 0x25, 0x00)?;
    Ok(())
}
