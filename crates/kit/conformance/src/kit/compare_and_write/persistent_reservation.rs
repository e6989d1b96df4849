use super::super::prelude::*;

check! {
    /// COMPARE AND WRITE by a nexus that is not registered conflicts with a write exclusive, all
    /// registrants reservation.
    53, "SPC-4 §5.13.1; SBC-3 §4.17", needs: [Writes]
}

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
