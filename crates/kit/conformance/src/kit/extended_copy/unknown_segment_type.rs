//! A segment descriptor of type 03h is not supported.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 73,
    name: "extended_copy/unknown_segment_type",
    section: "SPC-4 §6.3.1",
    asks: "A segment descriptor of type 03h is not supported.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let mut list = nothing(bench)?;
    list[48] = 0x03;
    copy(bench, A, list)?.check_condition(0x05, 0x26, 0x09)?;
    Ok(())
}
