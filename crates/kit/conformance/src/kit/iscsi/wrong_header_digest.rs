use super::super::prelude::*;

check! {
    /// A header with a wrong digest ends the connection at error recovery level 0.
    152, "RFC 7143 §7.7, §13.1", needs: []
}

fn run(bench: &mut Bench<'_>) -> Verdict {
    let (url, options) = (bench.url(A)?, bench.session_options(A));
    let (mut wire, answer) = Wire::full_feature(&url, &options, &[("HeaderDigest", "CRC32C")])?;
    if answer.value("HeaderDigest") != Some("CRC32C") {
        return skipped("the target does not do header digests");
    }
    let ping = Pdu::new(0x40, 0x80, 1).word(20, 0xFFFF_FFFF).word(24, 1).word(28, wire.exp_stat_sn);
    let mut bytes = ping.encoded();
    bytes.extend_from_slice(&[0xDE, 0xAD, 0xBE, 0xEF]);
    wire.send_bytes(&bytes)?;
    wire.expect_closed()?;
    Ok(())
}
