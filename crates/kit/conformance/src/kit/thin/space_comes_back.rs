use super::super::prelude::*;

check! {
    /// When the pool has space again, the same WRITE succeeds without a reset.
    126, "SBC-3 §4.7.3.6", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let data = bench.pattern(1);
    let mut failed_at = 0;
    with_full_pool(bench, |bench, unmapped| {
        failed_at = unmapped;
        bench.send_data(A, cdb::write16(unmapped, 1, false), data.clone())?.check_condition(0x07, 0x27, 0x07)?.done()
    })?;
    bench.write(A, failed_at, &data)?;
    bench.expect_content(A, failed_at, &data)?;
    Ok(())
}
