use super::super::prelude::*;

check! {
    /// A port in standby answers discovery commands, TEST UNIT READY, RESERVE and RELEASE.
    29, "SPC-4 §5.15.2.6", needs: [SecondPortal, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    with_standby(bench, |bench| {
        // An existing session would get the unit attention of the change first.
        bench.cut(A2);
        for cdb in [cdb::test_unit_ready(), cdb::padded(&[0x16]), cdb::padded(&[0x17])] {
            bench.ask(A2, cdb)?.good()?;
        }
        for cdb in [cdb::inquiry(None, 96), cdb::read_capacity16(), cdb::mode_sense6(0x3F)] {
            bench.fetch(A2, cdb, 255)?.good()?;
        }
        Ok(())
    })?;
    Ok(())
}
