use super::super::prelude::*;

check! {
    /// A difference at byte 485 is a miscompare with INFORMATION 1E5h, and nothing is written.
    38, "SBC-3 §5.2; SPC-4 §4.5.3", needs: [Writes]
}

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
