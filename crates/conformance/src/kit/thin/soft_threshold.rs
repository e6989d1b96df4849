//! When the pool passes its threshold, a nexus hears 06/38/07 once, and the command that is sent again succeeds.

use super::super::prelude::*;

pub(super) const CHECK: Check = Check {
    number: 127,
    name: "thin/soft_threshold",
    section: "SBC-3 §4.7.3.7",
    asks: "When the pool passes its threshold, a nexus hears 06/38/07 once, and the command that is sent again succeeds.",
    needs: &[Need::Writes, Need::Hook],
    run,
};

fn run(bench: &mut Bench<'_>) -> Verdict {
    for path in [A, B] {
        bench.ask(path, cdb::test_unit_ready())?.good()?;
    }
    bench.hook(&["threshold"])?;
    let verdict = (|| {
        let data = bench.pattern(1);
        let lba = bench.scratch(1)?;
        let mut heard = 0;
        for path in [A, B] {
            let answer = bench.give(path, cdb::write16(lba, 1, false), data.clone())?;
            if answer.status() != GOOD {
                answer.check_condition(0x06, 0x38, 0x07)?;
                heard += 1;
                bench.give(path, cdb::write16(lba, 1, false), data.clone())?.good()?;
            }
        }
        expect(heard > 0, || "expected 06/38/07 on a nexus, found it on none".into())
    })();
    bench.hook(&["no-threshold"])?;
    verdict?;
    Ok(())
}
