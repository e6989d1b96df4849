use super::super::prelude::*;

check! {
    /// RESERVE (6) by the holder succeeds again, and one RELEASE ends it.
    130, "SPC-2 §7.21", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.ask(A, cdb::padded(&[0x17]))?.good()?;
    bench.ask(B, cdb::padded(&[0x16]))?.good()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
