//! UNMAP with a parameter list of four bytes has a parameter list length error.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 117,
    name: "unmap/cut_list",
    section: "SBC-3 §5.28",
    asks: "UNMAP with a parameter list of four bytes has a parameter list length error.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.give(A, cdb::unmap(4), vec![0, 6, 0, 0])?.check_condition(0x05, 0x1A, 0x00)?;
    Ok(())
}
