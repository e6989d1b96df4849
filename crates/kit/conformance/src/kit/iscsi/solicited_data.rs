//! A WRITE longer than FirstBurstLength is asked for with R2T of at most MaxBurstLength, and has no residual.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 168,
    name: "iscsi/solicited_data",
    section: "RFC 7143 §4.2.5.2, §11.8",
    asks: "A WRITE longer than FirstBurstLength is asked for with R2T of at most MaxBurstLength, and has no residual.",
    needs: &[Need::Writes],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(2048);
    bench.give(A, cdb::write16(lba, 2048, false), data.clone())?.good()?.residual(0)?;
    bench.expect_content(A, lba, &data)?;
    Ok(())
}
