//! RESERVE (6) succeeds on a logical unit that has COMPARE AND WRITE: ESXi formats a datastore under it.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 129,
    name: "reservations/reserve",
    section: "SPC-2 §7.21",
    asks: "RESERVE (6) succeeds on a logical unit that has COMPARE AND WRITE: ESXi formats a datastore under it.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, RESERVE)?.good()?;
    bench.ask(A, RELEASE)?.good()?;
    Ok(())
}
const RESERVE: cdb::Cdb = [0x16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const RELEASE: cdb::Cdb = [0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
