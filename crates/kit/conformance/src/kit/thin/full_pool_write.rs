use super::super::prelude::*;

check! {
    /// With a full pool a WRITE to an unmapped block fails with 07/27/07.
    124, "SBC-3 §4.7.3.6", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    with_full_pool(bench, |bench, unmapped| {
        let data = bench.pattern(1);
        bench.send_data(A, cdb::write16(unmapped, 1, false), data)?.check_condition(0x07, 0x27, 0x07)?.done()
    })?;
    Ok(())
}
