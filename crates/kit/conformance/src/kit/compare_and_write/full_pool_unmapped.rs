use super::super::prelude::*;

check! {
    /// With a full pool a COMPARE AND WRITE that needs space fails with 07/27/07.
    58, "SBC-3 §4.7.3.6", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    with_full_pool(bench, |bench, unmapped| {
        let new = bench.pattern(1);
        caw(bench, A, unmapped, &[0; BLOCK], &new)?.check_condition(0x07, 0x27, 0x07)?.done()
    })?;
    Ok(())
}
