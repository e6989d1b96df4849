#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;
use crate::pdu;

fn sample(digests: Digests, lengths: &[usize]) -> (Vec<u8>, Vec<(RawHeader, Vec<u8>)>) {
    let mut output = Output::default();
    let mut pdus = Vec::new();
    for (index, &length) in lengths.iter().enumerate() {
        let data: Vec<u8> = (0..length).map(|i| (i * 7 + index) as u8).collect();
        let header = pdu::blank(0x25, 0x80, index as u32);
        output.push_bytes(header, Bytes::from(data.clone()), digests);
        pdus.push((header, data));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = output.next_chunk() {
        bytes.extend_from_slice(&chunk);
    }
    assert_eq!(output.queued_bytes(), 0);
    (bytes, pdus)
}

#[test]
fn digests_match_rfc_7143_appendix_a_4() {
    assert_eq!(crc32c(&[0; 32]), [0xAA, 0x36, 0x91, 0x8A]);
    assert_eq!(crc32c(&[0xFF; 32]), [0x43, 0xAB, 0xA8, 0x62]);
    let ascending: Vec<u8> = (0..32).collect();
    assert_eq!(crc32c(&ascending), [0x4E, 0x79, 0xDD, 0x46]);
    let descending: Vec<u8> = (0..32).rev().collect();
    assert_eq!(crc32c(&descending), [0x5C, 0xDB, 0x3F, 0x11]);
    assert_eq!(data_digest(&ascending[..31]), crc32c(&[&ascending[..31], &[0]].concat()));
}

#[test]
fn pdus_survive_any_split() {
    let lengths = [0, 1, 2, 3, 4, 48, 511, COPY_LIMIT_BYTES, COPY_LIMIT_BYTES + 1];
    for digests in [
        Digests::default(),
        Digests { header: true, data: false },
        Digests { header: false, data: true },
        Digests { header: true, data: true },
    ] {
        let (bytes, pdus) = sample(digests, &lengths);
        for step in [1, 2, 7, 47, 48, 49, 1000, bytes.len()] {
            let mut input = BytesMut::new();
            let mut taken = Vec::new();
            for piece in bytes.chunks(step) {
                input.extend_from_slice(piece);
                while let Some(pdu) = take_pdu(&mut input, digests, 1 << 20).unwrap() {
                    taken.push(pdu);
                }
            }
            assert!(input.is_empty());
            assert_eq!(taken.len(), pdus.len());
            for (pdu, (header, data)) in taken.iter().zip(&pdus) {
                assert_eq!(pdu.header[..4], header[..4]);
                assert_eq!(pdu.header[8..], header[8..]);
                assert_eq!(&pdu.data[..], &data[..]);
            }
        }
    }
}

#[test]
fn corruption_is_noticed() {
    let digests = Digests { header: true, data: true };
    let (bytes, _) = sample(digests, &[100]);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let result = take_pdu(&mut BytesMut::from(&damaged[..]), digests, 1 << 20);
        match result {
            Err(FramingError::HeaderDigest) => assert!(at < 52),
            Err(FramingError::DataDigest { .. }) => assert!(at >= 52),
            Ok(None) => assert_eq!(at, 4), // TotalAHSLength: the digest is expected further on
            other => panic!("byte {at}: {other:?}"),
        }
    }
}

#[test]
fn long_data_segments_are_refused_before_they_arrive() {
    let mut header = pdu::blank(0x05, 0x80, 1);
    header[5] = 0xFF;
    let result = take_pdu(&mut BytesMut::from(&header[..]), Digests::default(), 262_144);
    assert!(matches!(result, Err(FramingError::DataSegmentTooLong { length: 0x00FF_0000, .. })));
}

#[test]
fn additional_header_segments_are_kept_apart() {
    let mut header = pdu::blank(0x01, 0x80, 1);
    header[4] = 2;
    header[7] = 1;
    let mut input = BytesMut::from(&header[..]);
    input.extend_from_slice(&[0, 5, 2, 0, 0, 0, 2, 0, 0x77, 0, 0, 0]);
    let pdu = take_pdu(&mut input, Digests::default(), 8192).unwrap().unwrap();
    assert_eq!(&pdu.additional[..], [0, 5, 2, 0, 0, 0, 2, 0]);
    assert_eq!(&pdu.data[..], [0x77]);
}

#[test]
fn data_is_not_copied_in_and_long_data_not_out() {
    let (bytes, _) = sample(Digests::default(), &[4096]);
    let mut input = BytesMut::from(&bytes[..]);
    let range = input.as_ptr_range();
    let pdu = take_pdu(&mut input, Digests::default(), 8192).unwrap().unwrap();
    assert!(range.contains(&pdu.data.as_ptr()));

    let long = Bytes::from(vec![1; 100_000]);
    let mut output = Output::default();
    output.push_bytes(pdu::blank(0x25, 0x80, 1), long.clone(), Digests::default());
    assert_eq!(output.next_chunk().unwrap().len(), HEADER_BYTES);
    assert_eq!(output.next_chunk().unwrap().as_ptr(), long.as_ptr());
}
