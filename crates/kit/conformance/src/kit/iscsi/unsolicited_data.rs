use super::super::prelude::*;

check! {
    /// WRITE of 34 blocks with 8 KiB immediate and the rest unsolicited has no residual.
    167, "RFC 7143 §4.2.5.2, §11.7", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(34)?;
    let data = bench.pattern(34);
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let (mut wire, _) = Wire::full_feature(&url, &options, ESXI_KEYS)?;
    wire.clear_unit_attentions()?;
    let command = wire.command(200, 0x20, 34 * 512, &cdb::write16(lba, 34, false)).data(data[..8192].to_vec());
    wire.send(&command)?;
    let out = Pdu::new(0x05, 0x80, 200).word(20, 0xFFFF_FFFF).word(28, wire.exp_stat_sn).word(40, 8192);
    wire.send(&out.data(data[8192..].to_vec()))?;
    let answer = wire.must_receive()?;
    expect_equal("operation code, O and U bits, response and status", scsi_response(&answer), (0x21, 0, 0, 0))?;
    expect_equal("residual", answer.get(44), 0)?;
    bench.expect_content(A, lba, &data)?;
    Ok(())
}
