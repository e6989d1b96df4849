//! A mode page that is not there is refused.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 23,
    name: "discovery/unknown_mode_page",
    section: "SPC-4 §6.13",
    asks: "A mode page that is not there is refused.",
    needs: &[],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::mode_sense6(0x2B), 255)?.check_condition(0x05, 0x24, 0x00)?;
    Ok(())
}
