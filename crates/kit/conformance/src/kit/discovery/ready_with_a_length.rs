use super::super::prelude::*;

check! {
    /// TEST UNIT READY with the R bit and an expected length succeeds with an underflow of all of
    /// it, as ESXi sends it.
    6, "RFC 7143 §11.4.5.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::test_unit_ready(), 252)?.good()?.length(0)?.residual(252)?;
    Ok(())
}
