use super::super::prelude::*;

check! {
    /// A WRITE longer than FirstBurstLength gets R2Ts of at most MaxBurstLength, and has no
    /// residual.
    168, "RFC 7143 §4.2.5.2, §11.8", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(2048)?;
    let data = bench.pattern(2048);
    bench.send_data(A, cdb::write16(lba, 2048, false), data.clone())?.good()?.residual(0)?;
    bench.expect_content(A, lba, &data)?;
    Ok(())
}
