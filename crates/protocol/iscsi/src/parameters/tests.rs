use super::*;

/// Offer and answer of every key, with the default limits.
#[test]
fn every_key() {
    let cases: &[(&str, &str, &str)] = &[
        ("HeaderDigest", "None,CRC32C", "None"),
        ("HeaderDigest", "CRC32C,None", "CRC32C"),
        ("HeaderDigest", "X-md5,CRC32C", "CRC32C"),
        ("HeaderDigest", "X-md5", "Reject"),
        ("DataDigest", "CRC32C", "CRC32C"),
        ("DataDigest", "", "Reject"),
        ("MaxConnections", "4", "1"),
        ("MaxConnections", "0", "Reject"),
        ("InitialR2T", "Yes", "Yes"),
        ("InitialR2T", "No", "No"),
        ("InitialR2T", "maybe", "Reject"),
        ("ImmediateData", "Yes", "Yes"),
        ("ImmediateData", "No", "No"),
        ("MaxRecvDataSegmentLength", "131072", ""),
        ("MaxRecvDataSegmentLength", "511", "Reject"),
        ("MaxRecvDataSegmentLength", "16777216", "Reject"),
        ("MaxBurstLength", "262144", "262144"),
        ("MaxBurstLength", "0x40000", "262144"),
        ("MaxBurstLength", "16776192", "1048576"),
        ("MaxBurstLength", "abc", "Reject"),
        ("FirstBurstLength", "65536", "65536"),
        ("FirstBurstLength", "1048576", "262144"), // at most MaxBurstLength, here its default
        ("FirstBurstLength", "100", "Reject"),
        ("DefaultTime2Wait", "0", "2"),
        ("DefaultTime2Wait", "5", "5"),
        ("DefaultTime2Wait", "3601", "Reject"),
        ("DefaultTime2Retain", "20", "0"),
        ("MaxOutstandingR2T", "1", "1"),
        ("MaxOutstandingR2T", "16", "8"),
        ("MaxOutstandingR2T", "65536", "Reject"),
        ("DataPDUInOrder", "No", "Yes"),
        ("DataSequenceInOrder", "No", "Yes"),
        ("ErrorRecoveryLevel", "2", "0"),
        ("ErrorRecoveryLevel", "3", "Reject"),
        ("TaskReporting", "ResponseFence,RFC3720", "ResponseFence"),
        ("TaskReporting", "FastAbort,ResponseFence", "ResponseFence"),
        ("TaskReporting", "RFC3720", "RFC3720"),
        ("TaskReporting", "FastAbort", "Reject"),
        ("TaskReporting", "", "Reject"),
        ("iSCSIProtocolLevel", "31", "2"),
        ("iSCSIProtocolLevel", "2", "2"),
        ("iSCSIProtocolLevel", "1", "1"),
        ("iSCSIProtocolLevel", "0", "0"),
        ("iSCSIProtocolLevel", "32", "Reject"),
        ("iSCSIProtocolLevel", "-1", "Reject"),
        ("IFMarker", "No", "No"),
        ("IFMarker", "Yes", "No"),
        ("OFMarker", "No", "No"),
        ("IFMarkInt", "2048~65536", "Reject"),
        ("OFMarkInt", "2048~65536", "Reject"),
        ("X-com.example.foo", "1", "NotUnderstood"),
        ("Foo", "1", "NotUnderstood"),
    ];
    for (key, offer, expected) in cases {
        let expected = match *expected {
            "" => Answer::Nothing,
            "Reject" => Answer::Reject,
            "NotUnderstood" => Answer::NotUnderstood,
            value => Answer::Value(value.to_owned()),
        };
        let answer = Parameters::default().answer(&Limits::default(), key, offer);
        assert_eq!(answer, expected, "{key}={offer}");
    }
}

#[test]
fn first_burst_never_exceeds_max_burst_whatever_the_order() {
    let mut parameters = Parameters::default();
    let mut reply = Vec::new();
    let offers = [("FirstBurstLength", "262144"), ("MaxBurstLength", "16384")];
    parameters.answer_all(&Limits::default(), &offers, &mut reply);
    assert_eq!(reply, b"FirstBurstLength=16384\0MaxBurstLength=16384\0");

    let mut parameters = Parameters::default();
    parameters.answer_all(&Limits::default(), &[("FirstBurstLength", "262144")], &mut Vec::new());
    let mut reply = Vec::new();
    parameters.answer_all(&Limits::default(), &[("MaxBurstLength", "16384")], &mut reply);
    assert_eq!(reply, b"MaxBurstLength=Reject\0", "the initiator was told another FirstBurstLength");
    assert_eq!((parameters.first_burst_length, parameters.max_burst_length), (262_144, 262_144));

    // Equal to the agreed value; or no value was agreed.
    let mut parameters = Parameters::default();
    parameters.answer_all(&Limits::default(), &[("FirstBurstLength", "16384")], &mut Vec::new());
    parameters.answer_all(&Limits::default(), &[("MaxBurstLength", "16384")], &mut Vec::new());
    assert_eq!((parameters.first_burst_length, parameters.max_burst_length), (16_384, 16_384));
    let mut parameters = Parameters::default();
    parameters.answer_all(&Limits::default(), &[("MaxBurstLength", "512")], &mut Vec::new());
    assert_eq!((parameters.first_burst_length, parameters.max_burst_length), (512, 512));
}

/// Every numerical key at its limits, beyond them, and with text that is not a number (RFC 7143
/// §6.1, §13).
#[test]
fn numbers_have_their_ranges() {
    let ranges: &[(&str, u64, u64)] = &[
        ("MaxConnections", 1, 65_535),
        ("MaxRecvDataSegmentLength", 512, 16_777_215),
        ("MaxBurstLength", 512, 16_777_215),
        ("FirstBurstLength", 512, 16_777_215),
        ("DefaultTime2Wait", 0, 3600),
        ("DefaultTime2Retain", 0, 3600),
        ("MaxOutstandingR2T", 1, 65_535),
        ("ErrorRecoveryLevel", 0, 2),
        ("iSCSIProtocolLevel", 0, 31),
    ];
    let answer = |key: &str, value: &str| Parameters::default().answer(&Limits::default(), key, value);
    for (key, low, high) in ranges {
        for value in [low.to_string(), high.to_string(), format!("0x{low:x}"), format!("0X{high:X}")] {
            assert!(!matches!(answer(key, &value), Answer::Reject | Answer::NotUnderstood), "{key}={value}");
        }
        let outside = [(high + 1).to_string(), low.checked_sub(1).map_or_else(|| "-1".into(), |low| low.to_string())];
        for value in outside.iter().map(String::as_str).chain([
            "",
            " 1",
            "1 ",
            "+1",
            "1.0",
            "1,2",
            "0x",
            "0xg",
            "Yes",
            "None",
            "18446744073709551616",
            "0x10000000000000000",
        ]) {
            assert_eq!(answer(key, value), Answer::Reject, "{key}={value}");
        }
    }
}

/// Booleans accept `Yes` and `No` only; lists take the first known choice.
#[test]
fn booleans_and_lists_are_spelt_exactly() {
    let answer = |key: &str, value: &str| Parameters::default().answer(&Limits::default(), key, value);
    let booleans = ["InitialR2T", "ImmediateData", "DataPDUInOrder", "DataSequenceInOrder", "IFMarker", "OFMarker"];
    for key in booleans {
        for value in ["Yes", "No"] {
            assert!(matches!(answer(key, value), Answer::Value(_)), "{key}={value}");
        }
        for value in ["yes", "NO", "1", "0", "", "Yes,No", "True"] {
            assert_eq!(answer(key, value), Answer::Reject, "{key}={value}");
        }
    }
    for key in ["HeaderDigest", "DataDigest"] {
        for value in ["", "crc32c", "none", "CRC32C ", ","] {
            assert_eq!(answer(key, value), Answer::Reject, "{key}={value}");
        }
    }
    // Keys are case-sensitive.
    for key in ["initialr2t", "INITIALR2T", "MaxBurstlength", "X#FOO", "Irrelevant"] {
        assert_eq!(answer(key, "Yes"), Answer::NotUnderstood, "{key}");
    }
}

/// An initiator's words of refusal are not valid offers: the target offers nothing but its own
/// declaration.
#[test]
fn words_of_negotiation_are_no_values() {
    for key in ["InitialR2T", "MaxBurstLength", "HeaderDigest", "TaskReporting", "MaxConnections"] {
        for word in ["Reject", "Irrelevant", "NotUnderstood"] {
            let mut parameters = Parameters::default();
            assert_eq!(parameters.answer(&Limits::default(), key, word), Answer::Reject, "{key}={word}");
            assert_eq!(parameters, Parameters::default());
        }
    }
}

/// Every combination of both sides' values, as RFC 7143 §13 combines them.
#[test]
fn both_sides_words_are_combined() {
    for (target, offer, or, and) in
        [(false, "No", "No", "No"), (false, "Yes", "Yes", "No"), (true, "No", "Yes", "No"), (true, "Yes", "Yes", "Yes")]
    {
        let limits = Limits { initial_r2t: target, immediate_data: target, ..Limits::default() };
        let answer = |key: &str| Parameters::default().answer(&limits, key, offer);
        assert_eq!(answer("InitialR2T"), Answer::Value(or.into()), "{target} {offer}");
        assert_eq!(answer("ImmediateData"), Answer::Value(and.into()), "{target} {offer}");
    }
    for (offer, wait, retain) in [("0", "30", "0"), ("30", "30", "30"), ("60", "60", "40")] {
        let limits = Limits { default_time2wait: 30, default_time2retain: 40, ..Limits::default() };
        let answer = |key: &str| Parameters::default().answer(&limits, key, offer);
        assert_eq!(answer("DefaultTime2Wait"), Answer::Value(wait.into()));
        assert_eq!(answer("DefaultTime2Retain"), Answer::Value(retain.into()));
    }
}

/// Conformance check 150: the key set of ESXi.
#[test]
fn key_set_of_esxi() {
    let offers = [
        ("HeaderDigest", "None"),
        ("DataDigest", "None"),
        ("DefaultTime2Wait", "2"),
        ("DefaultTime2Retain", "0"),
        ("IFMarker", "No"),
        ("OFMarker", "No"),
        ("ErrorRecoveryLevel", "0"),
        ("InitialR2T", "No"),
        ("ImmediateData", "Yes"),
        ("MaxBurstLength", "262144"),
        ("FirstBurstLength", "262144"),
        ("MaxOutstandingR2T", "1"),
        ("MaxConnections", "1"),
        ("DataPDUInOrder", "Yes"),
        ("DataSequenceInOrder", "Yes"),
        ("MaxRecvDataSegmentLength", "131072"),
    ];
    let mut parameters = Parameters::default();
    let mut reply = Vec::new();
    parameters.answer_all(&Limits::default(), &offers, &mut reply);
    assert_eq!(
        String::from_utf8_lossy(&reply).replace('\0', " "),
        "HeaderDigest=None DataDigest=None DefaultTime2Wait=2 DefaultTime2Retain=0 IFMarker=No OFMarker=No \
         ErrorRecoveryLevel=0 InitialR2T=No ImmediateData=Yes MaxBurstLength=262144 FirstBurstLength=262144 \
         MaxOutstandingR2T=1 MaxConnections=1 DataPDUInOrder=Yes DataSequenceInOrder=Yes "
    );
    assert_eq!(parameters.initiator_max_recv_data_segment_length, 131_072);
    assert!(!parameters.initial_r2t && parameters.immediate_data);
}

#[test]
fn the_initiator_takes_answers() {
    let mut parameters = Parameters::default();
    assert!(parameters.accept("FirstBurstLength", "131072"));
    assert!(parameters.accept("HeaderDigest", "CRC32C"));
    assert!(parameters.accept("InitialR2T", "Irrelevant"));
    assert!(parameters.accept("TargetAlias", "anything"));
    assert!(!parameters.accept("MaxBurstLength", "1"));
    assert_eq!(parameters.first_burst_length, 131_072);
    assert!(parameters.header_digest && parameters.initial_r2t);
}
