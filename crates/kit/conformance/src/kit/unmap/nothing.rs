use super::super::prelude::*;

check! {
    /// UNMAP without a list, without descriptors, or of no blocks at the end succeeds.
    115, "SBC-3 §5.28", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::unmap(0))?.good()?;
    unmap(bench, A, &[])?.good()?;
    let capacity = bench.capacity(A)?;
    unmap(bench, A, &[(capacity, 0)])?.good()?;
    Ok(())
}
