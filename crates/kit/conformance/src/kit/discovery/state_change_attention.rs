//! When a port group changes its state, every other nexus hears 06/2A/06 once.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 31,
    name: "discovery/state_change_attention",
    section: "SPC-4 §5.15.2.3",
    asks: "When a port group changes its state, every other nexus hears 06/2A/06 once.",
    needs: &[Need::SecondPortal, Need::Hook],
    run,
};

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
