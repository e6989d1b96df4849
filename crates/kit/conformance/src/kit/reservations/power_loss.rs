//! With APTPL registrations and reservation outlast a restart.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 140,
    name: "reservations/power_loss",
    section: "SPC-4 §5.13.5",
    asks: "With APTPL registrations and reservation outlast a restart.",
    needs: &[Need::Writes, Need::Hook],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.give(A, pr::out_cdb(0x00, 0), pr::out_list(0, 0xA, true))?.good()?;
    pr::out(bench, A, 0x01, 7, 0xA, 0)?.good()?;
    bench.hook(&["restart"])?;
    bench.cut_all();
    pr::read_in(bench, A, 0x00)?.good()?.bytes(4, &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0xA])?;
    pr::read_in(bench, A, 0x01)?.good()?.bytes(21, &[0x07])?;
    pr::out(bench, A, 0x03, 0, 0xA, 0)?.good()?;
    Ok(())
}
