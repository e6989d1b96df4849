//! COMPARE AND WRITE by a nexus that is not registered conflicts with a write exclusive, all registrants reservation.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 53,
    name: "compare_and_write/persistent_reservation",
    section: "SPC-4 §5.13.1; SBC-3 §4.17",
    asks: "COMPARE AND WRITE by a nexus that is not registered conflicts with a write exclusive, all registrants reservation.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    pr::register(bench, B, 0, 0xB)?.good()?;
    pr::out(bench, B, 0x01, 7, 0xB, 0)?.good()?;
    caw(bench, A, lba, &old, &new)?.conflict()?;
    pr::out(bench, B, 0x03, 0, 0xB, 0)?.good()?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
