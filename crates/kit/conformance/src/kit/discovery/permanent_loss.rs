use super::super::prelude::*;

check! {
    /// A removed logical unit answers 05/25/00 on every path, and the sessions stay: a permanent
    /// device loss for ESXi.
    34, "SPC-4 §4.5; SAM-5 §4.7.3", needs: [SecondPortal, SecondUnit, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let paths = [A.second(), A2.second(), B.second()];
    for path in paths {
        bench.ask(path, cdb::test_unit_ready())?.good()?;
    }
    without_second(bench, |bench| {
        for path in paths {
            bench.ask(path, cdb::test_unit_ready())?.check_condition(0x05, 0x25, 0x00)?;
            bench.fetch(path, cdb::read16(0, 1), 512)?.check_condition(0x05, 0x25, 0x00)?;
        }
        Ok(())
    })?;
    Ok(())
}
