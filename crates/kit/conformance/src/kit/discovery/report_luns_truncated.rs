use super::super::prelude::*;

check! {
    /// REPORT LUNS with an allocation length of 16 is truncated and keeps its length field.
    19, "SPC-4 §6.33", needs: [SecondUnit]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let whole = bench.fetch(A, cdb::report_luns(16_384), 16_384)?.good()?;
    bench
        .fetch(A, cdb::report_luns(16), 16)?
        .good()?
        .length(16)?
        .bytes(0, whole.data().get(..16).unwrap_or_default())?;
    Ok(())
}
