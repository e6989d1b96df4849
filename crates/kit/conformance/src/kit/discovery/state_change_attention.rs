use super::super::prelude::*;

check! {
    /// When a port group changes its state, every other nexus gets the unit attention 06/2A/06
    /// once.
    31, "SPC-4 §5.15.2.3", needs: [SecondPortal, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    for path in [A, B] {
        bench.ask(path, cdb::test_unit_ready())?.good()?;
    }
    with_standby(bench, |bench| {
        for path in [A, B] {
            bench.ask(path, cdb::test_unit_ready())?.check_condition(0x06, 0x2A, 0x06)?;
            bench.ask(path, cdb::test_unit_ready())?.good()?;
        }
        Ok(())
    })?;
    Ok(())
}
