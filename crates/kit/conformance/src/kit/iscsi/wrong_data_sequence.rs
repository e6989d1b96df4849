use super::super::prelude::*;

check! {
    /// Data-Out with a wrong DataSN is rejected, ends the command or ends the connection; the
    /// command does not succeed.
    169, "RFC 7143 §7.8, §7.9, §11.7.3", needs: [Writes]
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let lba = bench.scratch(34)?;
    let old = bench.pattern(34);
    bench.write(A, lba, &old)?;
    let data = bench.pattern(34);
    let (url, options) = (bench.url(B)?, bench.session_options(B));
    bench.cut(B);
    let (mut wire, _) = Wire::full_feature(&url, &options, ESXI_KEYS)?;
    wire.clear_unit_attentions()?;
    let command = wire.command(200, 0x20, 34 * 512, &cdb::write16(lba, 34, false)).data(data[..8192].to_vec());
    wire.send(&command)?;
    let out = Pdu::new(0x05, 0x80, 200).word(20, 0xFFFF_FFFF).word(28, wire.exp_stat_sn).word(36, 7).word(40, 8192);
    wire.send(&out.data(data[8192..].to_vec()))?;
    match wire.receive()? {
        Received::Closed => {}
        Received::Nothing => return failed("expected an end of the command, found nothing in time"),
        Received::Pdu(pdu) => {
            let fine = pdu.opcode() == 0x3F || pdu.opcode() == 0x21 && pdu.header[3] != 0;
            expect(fine, || {
                format!(
                    "expected a Reject or an error, found PDU {:02x}h with status {:02x}h",
                    pdu.opcode(),
                    pdu.header[3]
                )
            })?;
        }
    }
    bench.expect_content(A, lba, &old)?;
    Ok(())
}
