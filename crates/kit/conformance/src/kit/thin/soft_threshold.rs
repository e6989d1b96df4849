use super::super::prelude::*;

check! {
    /// When the pool passes its threshold, a nexus gets the unit attention 06/38/07 once, and the
    /// repeated command succeeds.
    127, "SBC-3 §4.7.3.7", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    if bench.pool_was_full_within(Duration::from_secs(300)) {
        return skipped(
            "an earlier check filled the pool, and a threshold is reported once in 300 s: run this check alone",
        );
    }
    let lba = bench.scratch(1)?;
    let data = bench.pattern(1);
    for path in [A, B] {
        bench.ask(path, cdb::test_unit_ready())?.good()?;
    }
    bench.hook(&["threshold"])?;
    let verdict = (|| {
        let (mut attentions, mut mode_changed) = ([0; 2], [false; 2]);
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(4) {
            for ((path, attentions), mode_changed) in [A, B].into_iter().zip(&mut attentions).zip(&mut mode_changed) {
                let answer = bench.send_data(path, cdb::write16(lba, 1, false), data.clone())?;
                // Setting a threshold changes a mode parameter (mode page 1Ch/02h): a nexus may get
                // a unit attention for that, too.
                if answer.is(0x06, 0x2A, 0x01) && !std::mem::replace(mode_changed, true) {
                    continue;
                }
                if answer.status() != GOOD {
                    answer.check_condition(0x06, 0x38, 0x07)?;
                    *attentions += 1;
                    bench.send_data(path, cdb::write16(lba, 1, false), data.clone())?.good()?;
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let fine = matches!(attentions, [1, 1] | [1, 0] | [0, 1]);
        expect(fine, || {
            format!("06/38/07 on nexuses A and B: expected once each, or once on one, found {attentions:?}")
        })
    })();
    bench.hook(&["no-threshold"])?;
    bench.clear_unit_attentions();
    verdict?;
    Ok(())
}
