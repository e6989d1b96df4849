use super::super::prelude::*;

check! {
    /// TARGET WARM RESET is complete, the connections stay, and the other nexuses get the unit
    /// attention 06/29.
    148, "SAM-5 §6.3.2; RFC 7143 §11.5.1", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    bench.ask(B, cdb::test_unit_ready())?.good()?;
    let response = bench.manage(A, TaskManagementFunction::TARGET_WARM_RESET, None)?;
    expect_equal("response", response.0, 0)?;
    let answer = bench.ask(B, cdb::test_unit_ready())?.key(0x06)?;
    expect_equal("additional sense code", answer.sense().map(|(_, code, _)| code), Some(0x29))?;
    bench.clear_unit_attentions();
    bench.ask(A, cdb::test_unit_ready())?.good()?;
    Ok(())
}
