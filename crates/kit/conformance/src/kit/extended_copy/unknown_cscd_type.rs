//! A CSCD descriptor of type E0h is not supported.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 72,
    name: "extended_copy/unknown_cscd_type",
    section: "SPC-4 §6.3.1",
    asks: "A CSCD descriptor of type E0h is not supported.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[16] = 0xE0;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x07)?;
    Ok(())
}
