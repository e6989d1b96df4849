use super::super::prelude::*;

check! {
    /// READ of 128 KiB comes in segments of at most MaxRecvDataSegmentLength, the last one with F,
    /// S and GOOD.
    170, "RFC 7143 §11.7, §13.12", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let (mut wire, _) = Wire::full_feature(&url, &options, ESXI_KEYS)?;
    wire.settle()?;
    let command = wire.command(300, 0xC0, 131_072, &cdb::read16(0, 256));
    wire.send(&command)?;
    let mut received = 0;
    while received < 131_072 {
        let pdu = wire.must_receive()?;
        expect_equal("operation code", pdu.opcode(), 0x25)?;
        expect(pdu.data.len() <= 131_072, || {
            format!("segment: expected at most 131072 bytes, found {}", pdu.data.len())
        })?;
        received += pdu.data.len();
        if received >= 131_072 {
            expect_equal(
                "F and S of the last segment, and its status",
                (pdu.header[1] & 0x81, pdu.header[3]),
                (0x81, 0),
            )?;
        }
    }
    Ok(())
}
