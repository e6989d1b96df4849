use super::super::prelude::*;

check! {
    /// A command with a CmdSN beyond MaxCmdSN is dropped silently, and the session continues.
    165, "RFC 7143 §4.2.2.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let (mut wire, _) = Wire::full_feature(&url, &options, &[])?;
    wire.clear_unit_attentions()?;
    let beyond = wire.max_cmd_sn.wrapping_add(10);
    let pdu = wire.command(100, 0x80, 0, &cdb::test_unit_ready()).word(24, beyond);
    wire.cmd_sn = wire.cmd_sn.wrapping_sub(1);
    wire.send(&pdu)?;
    wire.patience(Duration::from_millis(300))?;
    match wire.receive()? {
        Received::Nothing => {}
        Received::Closed => return failed("expected silence, found the connection closed"),
        Received::Pdu(pdu) => return failed(format!("expected silence, found a PDU {:02x}h", pdu.opcode())),
    }
    wire.patience(options.timeout)?;
    let pdu = wire.command(101, 0x80, 0, &cdb::test_unit_ready());
    wire.send(&pdu)?;
    let answer = wire.must_receive()?;
    expect_equal("operation code and tag of the answer", (answer.opcode(), answer.get(16)), (0x21, 101))?;
    Ok(())
}
