use super::super::prelude::*;

check! {
    /// COMPARE AND WRITE on a logical unit that another nexus has reserved is a reservation
    /// conflict without sense data, and writes nothing.
    52, "SPC-2 §5.5.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let (old, new) = (bench.pattern(1), bench.pattern(1));
    bench.write(A, lba, &old)?;
    bench.ask(B, cdb::padded(&[0x16]))?.good()?;
    caw(bench, A, lba, &old, &new)?.conflict()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
