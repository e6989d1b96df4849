//! LIST ID USAGE 01b is refused.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 66,
    name: "extended_copy/reserved_usage",
    section: "SPC-4 §6.3.1",
    asks: "LIST ID USAGE 01b is refused.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[1] = 0x08;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x00)?;
    Ok(())
}
