use super::super::prelude::*;

check! {
    /// READ with an expected length shorter than the transfer has an overflow of the difference.
    171, "RFC 7143 §11.4.5.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.fetch(A, cdb::read16(0, 8), 2048)?.good()?.length(2048)?.residual(-2048)?;
    Ok(())
}
