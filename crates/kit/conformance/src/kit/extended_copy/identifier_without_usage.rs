//! LIST ID USAGE 11b with a list identifier is refused.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 65,
    name: "extended_copy/identifier_without_usage",
    section: "SPC-4 §6.3.1",
    asks: "LIST ID USAGE 11b with a list identifier is refused.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[0] = 5;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x00)?;
    Ok(())
}
