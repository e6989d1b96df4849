use super::super::prelude::*;

check! {
    /// READ CAPACITY (16) with an allocation length of 12 gives the first 12 bytes.
    16, "SBC-3 §5.16", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let whole = bench.fetch(A, cdb::read_capacity16(), 32)?.good()?;
    let mut cdb = cdb::read_capacity16();
    cdb[13] = 12;
    bench.fetch(A, cdb, 32)?.good()?.length(12)?.residual(20)?.bytes(0, whole.data().get(..12).unwrap_or_default())?;
    Ok(())
}
