use super::super::prelude::*;

check! {
    /// RELEASE (6) of another nexus succeeds and changes nothing.
    133, "SPC-2 §7.17", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    bench.ask(B, cdb::test_unit_ready())?.conflict()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
