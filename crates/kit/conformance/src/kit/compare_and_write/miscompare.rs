//! A difference at byte 485 is a miscompare with INFORMATION 1E5h, and nothing is written.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 38,
    name: "compare_and_write/miscompare",
    section: "SBC-3 §5.2; SPC-4 §4.5.3",
    asks: "A difference at byte 485 is a miscompare with INFORMATION 1E5h, and nothing is written.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let old = bench.pattern(1);
    let mut wrong = old.clone();
    if let Some(byte) = wrong.get_mut(0x1E5) {
        *byte ^= 0xFF;
    }
    bench.write(A, lba, &old)?;
    let new = bench.pattern(1);
    caw(bench, A, lba, &wrong, &new)?.check_condition(0x0E, 0x1D, 0x00)?.information(0x1E5)?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
