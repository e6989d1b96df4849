//! REPORT LUNS with an allocation length of 16 is cut and keeps its length field.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 19,
    name: "discovery/report_luns_truncated",
    section: "SPC-4 §6.33",
    asks: "REPORT LUNS with an allocation length of 16 is cut and keeps its length field.",
    needs: &[Need::SecondUnit],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let whole = bench.fetch(A, cdb::report_luns(16_384), 16_384)?.good()?;
    bench
        .fetch(A, cdb::report_luns(16), 16)?
        .good()?
        .length(16)?
        .bytes(0, whole.data().get(..16).unwrap_or_default())?;
    Ok(())
}
