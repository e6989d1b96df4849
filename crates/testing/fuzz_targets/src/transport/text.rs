//! Text of Login and Text PDUs: pairs, values of every kind, names, and the negotiation of both ends.

use crate::input::{Reader, Writer};
use iscsi::chap::Algorithm;
use iscsi::parameters::{Limits, Parameters};
use iscsi::{names, text};

/// Input: a byte that selects target or initiator, and the text.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let as_initiator = reader.u8() & 1 != 0;
    let bytes = reader.rest();
    if let Ok(value) = std::str::from_utf8(bytes) {
        try_value(value);
    }
    let Ok(pairs) = text::parse(bytes) else { return };
    assert!(pairs.len() <= text::MAX_PAIRS);
    let mut again = Vec::new();
    for (key, value) in &pairs {
        assert!(!key.is_empty() && key.len() <= text::MAX_KEY_BYTES && value.len() <= text::MAX_VALUE_BYTES);
        text::push(&mut again, key, value);
        try_value(value);
    }
    assert_eq!(text::parse(&again).as_deref(), Ok(&pairs[..]), "text changes when it is written again");

    let mut parameters = Parameters::default();
    let limits = Limits::default();
    if as_initiator {
        let _all = pairs.iter().all(|(key, value)| parameters.accept(key, value));
    } else {
        let mut reply = Vec::new();
        parameters.answer_all(&limits, &pairs, &mut reply);
        assert!(reply.len() <= 2 * bytes.len() + 64 * pairs.len() + 256, "an answer far longer than the question");
        let answers = text::parse(&reply);
        assert!(
            answers.is_ok() || reply.len() > text::MAX_TEXT_BYTES || pairs.len() > 200,
            "our own text is malformed"
        );
    }
    assert!(parameters.max_burst_length >= 512 && parameters.max_burst_length <= 0x00FF_FFFF, "MaxBurstLength");
    assert!(parameters.first_burst_length >= 512, "FirstBurstLength");
    assert!(parameters.max_outstanding_r2t >= 1, "MaxOutstandingR2T");
    assert!((512..=0x00FF_FFFF).contains(&parameters.initiator_max_recv_data_segment_length));
    assert!((512..=0x00FF_FFFF).contains(&parameters.target_max_recv_data_segment_length));
}

fn try_value(value: &str) {
    let _number = text::number(value);
    let _boolean = text::boolean(value);
    let _algorithm = Algorithm::from_text(value);
    if let Some(binary) = text::binary(value, 64) {
        assert!(binary.len() <= 64);
        assert_eq!(text::binary(&text::binary_text(&binary), 64).as_ref(), Some(&binary).filter(|b| !b.is_empty()));
    }
    if let Ok(name) = names::normalize(value) {
        assert!(name.len() <= names::MAX_NAME_BYTES);
        assert_eq!(names::normalize(&name).as_deref(), Ok(&*name), "a normalized name changes when it is normalized");
    }
}

/// All keys, each with a common value.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("InitiatorName", "iqn.1994-05.com.example:host1"),
    ("TargetName", "iqn.2026-01.org.example:t0"),
    ("SessionType", "Normal"),
    ("InitiatorAlias", "a host"),
    ("AuthMethod", "CHAP,None"),
    ("CHAP_A", "7,5"),
    ("CHAP_N", "user"),
    ("CHAP_R", "0x00112233445566778899aabbccddeeff"),
    ("CHAP_I", "1"),
    ("CHAP_C", "0bAAECAwQFBgc="),
    ("HeaderDigest", "CRC32C,None"),
    ("DataDigest", "None,CRC32C"),
    ("MaxConnections", "1"),
    ("InitialR2T", "No"),
    ("ImmediateData", "Yes"),
    ("MaxRecvDataSegmentLength", "8192"),
    ("MaxBurstLength", "262144"),
    ("FirstBurstLength", "65536"),
    ("DefaultTime2Wait", "2"),
    ("DefaultTime2Retain", "20"),
    ("MaxOutstandingR2T", "1"),
    ("DataPDUInOrder", "Yes"),
    ("DataSequenceInOrder", "Yes"),
    ("ErrorRecoveryLevel", "0"),
    ("TaskReporting", "RFC3720,ResponseFence,FastAbort"),
    ("iSCSIProtocolLevel", "2"),
    ("OFMarker", "No"),
    ("IFMarker", "No"),
    ("SendTargets", "All"),
    ("TargetAlias", "x"),
    ("TargetAddress", "192.0.2.1:3260,1"),
    ("TargetPortalGroupTag", "1"),
    ("X-com.example.key", "value"),
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (key, value) in KEYS {
        text::push(&mut all, key, value);
    }
    let one = |key: &str, value: &str| {
        let mut bytes = Vec::new();
        text::push(&mut bytes, key, value);
        Writer::default().u8(0).raw(&bytes).0
    };
    vec![
        Writer::default().u8(0).raw(&all).0,
        Writer::default().u8(1).raw(&all).0,
        one("MaxRecvDataSegmentLength", "0xffffff"),
        one("HeaderDigest", "None"),
        one("CHAP_C", &text::binary_text(&[7; 64])),
        one("InitiatorName", "eui.02004567A425678D"),
        Writer::default().u8(0).raw("iqn.2026-01.org.exämple:ß".as_bytes()).0,
    ]
}
