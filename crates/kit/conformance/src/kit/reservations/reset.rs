use super::super::prelude::*;

check! {
    /// LOGICAL UNIT RESET by another nexus ends the reservation, and the holder gets the unit
    /// attention 06/29 once.
    134, "SPC-2 §5.5.1; SAM-5 §6.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(A, cdb::padded(&[0x16]))?.good()?;
    bench.session(B)?;
    expect_equal("response", bench.manage(B, TaskManagementFunction::LOGICAL_UNIT_RESET, None)?.0, 0)?;
    let answer = bench.ask(A, cdb::test_unit_ready())?.key(0x06)?;
    expect_equal("additional sense code", answer.sense().map(|(_, code, _)| code), Some(0x29))?;
    bench.ask(A, cdb::test_unit_ready())?.good()?;
    bench.clear_unit_attentions();
    bench.ask(B, cdb::padded(&[0x16]))?.good()?;
    bench.ask(B, cdb::padded(&[0x17]))?.good()?;
    Ok(())
}
