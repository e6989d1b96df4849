use super::super::prelude::*;

check! {
    /// After a resize every nexus gets the unit attention 06/2A/09 once, and the capacity is the
    /// new one.
    32, "SBC-3 §4.7; SPC-4 §5.14", needs: [Writes, Hook]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let capacity = bench.capacity(A)?;
    bench.ask(B, cdb::test_unit_ready())?.good()?;
    let lun = bench.url(A)?.lun.to_string();
    let bytes = (capacity + 2048) * 512;
    bench.hook(&["resize", &lun, &bytes.to_string()])?;
    for path in [A, B] {
        bench.ask(path, cdb::test_unit_ready())?.check_condition(0x06, 0x2A, 0x09)?;
        bench.ask(path, cdb::test_unit_ready())?.good()?;
        expect_equal("blocks after the resize", bench.capacity(path)?, capacity + 2048)?;
    }
    Ok(())
}
