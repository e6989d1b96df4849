use super::super::prelude::*;

check! {
    /// The reservation is of one nexus: the same initiator through the other portal conflicts.
    136, "SPC-2 §5.5.1; SAM-5 §4.3", needs: [Writes, SecondPortal]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(A2, cdb::test_unit_ready())?.conflict()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
