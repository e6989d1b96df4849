use super::super::prelude::*;

check! {
    /// READ (10) on a port in standby is refused with 02/04/0B.
    30, "SPC-4 §5.15.2.6", needs: [SecondPortal, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    with_standby(bench, |bench| {
        // An existing session would get the unit attention of the change first.
        bench.cut(A2);
        bench.fetch(A2, cdb::padded(&[0x28, 0, 0, 0, 0, 0, 0, 0, 1]), 512)?.check_condition(0x02, 0x04, 0x0B)?.done()
    })?;
    Ok(())
}
