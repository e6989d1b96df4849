//! A logical unit that is gone answers 05/25/00 on every path, with sessions that stay: a permanent device loss for ESXi.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 34,
    name: "discovery/permanent_loss",
    section: "SPC-4 §4.5; SAM-5 §4.7.3",
    asks: "A logical unit that is gone answers 05/25/00 on every path, with sessions that stay: a permanent device loss for ESXi.",
    needs: &[Need::SecondPortal, Need::SecondUnit, Need::Hook],
    run,
};

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
