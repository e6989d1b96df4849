use super::super::prelude::*;

/// Twice the MaxRecvDataSegmentLength of the keys: less would fit one segment, and not show whether
/// the limit is kept.
const READ_BYTES: u32 = 262_144;

check! {
    /// READ of 256 KiB comes in segments of at most MaxRecvDataSegmentLength, the last one with F,
    /// S and GOOD.
    170, "RFC 7143 §11.7, §13.12", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let (mut wire, _) = Wire::full_feature(&url, &options, ESXI_KEYS)?;
    wire.clear_unit_attentions()?;
    let command = wire.command(300, 0xC0, READ_BYTES, &cdb::read16(0, 512));
    wire.send(&command)?;
    let mut received = 0;
    while received < READ_BYTES as usize {
        let pdu = wire.must_receive()?;
        expect_equal("operation code", pdu.opcode(), 0x25)?;
        expect(pdu.data.len() <= 131_072, || {
            format!("segment: expected at most 131072 bytes, found {}", pdu.data.len())
        })?;
        received += pdu.data.len();
        if received >= READ_BYTES as usize {
            expect_equal(
                "F and S of the last segment, and its status",
                (pdu.header[1] & 0x81, pdu.header[3]),
                (0x81, 0),
            )?;
        }
    }
    Ok(())
}
