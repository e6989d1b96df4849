//! Logins like ESXi's, and CHAP by hand.

use ::iscsi::chap::Algorithm as Hash;
use ::iscsi::text::binary;

use super::super::prelude::*;
use super::super::wire::LoginAnswer;

pub use ::iscsi::chap::Algorithm;
pub use ::iscsi::initiator::Event;

pub use crate::commands::CommandError;
pub use crate::initiator::{Session, SessionError};
pub use crate::url::Url;

pub use super::super::wire::QUALIFIER as WIRE_QUALIFIER;

/// Keys that ESXi's software initiator offers.
pub const ESXI_KEYS: &[(&str, &str)] = &[
    ("HeaderDigest", "None"),
    ("DataDigest", "None"),
    ("InitialR2T", "No"),
    ("ImmediateData", "Yes"),
    ("FirstBurstLength", "262144"),
    ("MaxBurstLength", "262144"),
    ("MaxRecvDataSegmentLength", "131072"),
    ("MaxOutstandingR2T", "1"),
    ("MaxConnections", "1"),
    ("DefaultTime2Wait", "2"),
    ("DefaultTime2Retain", "0"),
    ("DataPDUInOrder", "Yes"),
    ("DataSequenceInOrder", "Yes"),
    ("ErrorRecoveryLevel", "0"),
];

/// Longest challenge accepted, in bytes.
const MAX_CHALLENGE_BYTES: usize = 1024;

/// Logs in with these keys and returns the answer; the session ends.
pub fn login_with(bench: &Bench<'_>, keys: &[(&str, &str)]) -> Result<LoginAnswer, NotPassed> {
    Wire::full_feature(&bench.url(A)?, &bench.session_options(A), keys).map(|(_, answer)| answer)
}

/// Fails unless the login ended with this status class and detail.
pub fn expect_refused(outcome: Result<Session, SessionError>, expected: u16) -> Verdict {
    match outcome {
        Err(SessionError::Login { status, .. }) => {
            expect_equal("login status", u16::from_be_bytes([status.class(), status.detail()]), expected)
        }
        Err(error) => failed(format!("expected login status {expected:04x}h, found: {error}")),
        Ok(_) => failed(format!("expected login status {expected:04x}h, found success")),
    }
}

/// URL of the target; skips the check if it has no user and password.
pub fn with_chap(bench: &Bench<'_>) -> Result<Url, NotPassed> {
    let url = bench.url(A)?;
    if url.chap.is_some() { Ok(url) } else { skipped("the URL has no user and password for CHAP") }
}

/// Logs in up to the challenge for these CHAP algorithms.
pub fn challenged(bench: &Bench<'_>, algorithms: &str) -> Result<(Wire, LoginAnswer), NotPassed> {
    let url = with_chap(bench)?;
    let options = bench.session_options(A);
    let mut wire = Wire::connect(&url, options.timeout)?;
    let names = [
        ("InitiatorName", options.initiator_name.as_str()),
        ("SessionType", "Normal"),
        ("TargetName", url.target.as_str()),
        ("AuthMethod", "CHAP"),
    ];
    wire.login_request(0x00, WIRE_QUALIFIER, &names)?.expect("AuthMethod", "CHAP")?;
    let challenge = wire.login_request(0x00, WIRE_QUALIFIER, &[("CHAP_A", algorithms)])?;
    for key in ["CHAP_I", "CHAP_C"] {
        expect(challenge.value(key).is_some(), || format!("{key}: expected it, found none"))?;
    }
    Ok((wire, challenge))
}

/// Computes CHAP_R for an MD5 challenge.
pub fn response_to(url: &Url, challenge: &LoginAnswer) -> Result<Vec<u8>, NotPassed> {
    challenge.expect("CHAP_A", "5")?;
    let secret = url.chap.as_ref().map(|chap| chap.secret.clone()).unwrap_or_default();
    let identifier = challenge.value("CHAP_I").and_then(|text| text.parse().ok());
    let bytes = challenge.value("CHAP_C").and_then(|text| binary(text, MAX_CHALLENGE_BYTES));
    match (identifier, bytes) {
        (Some(identifier), Some(bytes)) => Ok(Hash::Md5.response(identifier, secret.as_bytes(), &bytes).to_vec()),
        _ => failed("CHAP_I and CHAP_C: expected a number and binary data, found otherwise"),
    }
}

/// Base64 with padding, RFC 4648 §4.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let group =
            three.iter().fold(0_usize, |group, byte| group << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let character = DIGITS.get(group >> (18 - 6 * digit) & 0x3F).copied().unwrap_or(b'=');
            text.push(if digit <= three.len() { char::from(character) } else { '=' });
        }
    }
    text
}

/// Fields of a SCSI Response: (operation code, overflow and underflow bits, response, status).
pub fn scsi_response(pdu: &Pdu) -> (u8, u8, u8, u8) {
    (pdu.opcode(), pdu.header[1] & 0x06, pdu.header[2], pdu.header[3])
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_padded() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
    }
}
