use super::super::prelude::*;

check! {
    /// PREEMPT AND ABORT ends the registration of the other nexus, which gets the unit attention
    /// 06/2A/05 and may not write.
    139, "SPC-4 §5.13.11", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(1)?;
    let data = bench.pattern(1);
    pr::reserve_for_all_registrants(bench)?;
    pr::out(bench, B, 0x05, 7, 0xB, 0xA)?.good()?;
    bench.ask(A, cdb::test_unit_ready())?.check_condition(0x06, 0x2A, 0x05)?;
    bench.send_data(A, cdb::write16(lba, 1, false), data)?.conflict()?;
    pr::out(bench, B, 0x03, 0, 0xB, 0)?.good()?;
    Ok(())
}
