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
        ("TaskReporting", "ResponseFence,RFC3720", "RFC3720"),
        ("TaskReporting", "FastAbort", "Reject"),
        ("iSCSIProtocolLevel", "2", "1"),
        ("iSCSIProtocolLevel", "0", "0"),
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
    parameters.answer_all(&Limits::default(), &[("MaxBurstLength", "16384")], &mut Vec::new());
    assert_eq!(parameters.first_burst_length, 16_384);
}

/// K.6 check 150: the key set of ESXi.
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
