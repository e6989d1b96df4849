use super::super::prelude::*;

check! {
    /// When a logical unit is added or removed, every nexus gets the unit attention 06/3F/0E once;
    /// REPORT LUNS clears it.
    33, "SPC-4 §5.14, §6.33", needs: [SecondUnit, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    for path in [A, B] {
        bench.ask(path, cdb::test_unit_ready())?.good()?;
    }
    without_second(bench, |bench| {
        bench.ask(A, cdb::test_unit_ready())?.check_condition(0x06, 0x3F, 0x0E)?;
        bench.ask(A, cdb::test_unit_ready())?.good()?;
        bench.fetch(B, cdb::report_luns(16_384), 16_384)?.good()?;
        bench.ask(B, cdb::test_unit_ready())?.good()?.done()
    })?;
    bench.ask(A, cdb::test_unit_ready())?.check_condition(0x06, 0x3F, 0x0E)?;
    bench.ask(A, cdb::test_unit_ready())?.good()?;
    Ok(())
}
