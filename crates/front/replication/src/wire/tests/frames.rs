//! Frames: their bytes, pieces of a stream, truncation, every flipped bit, limits.

use super::{frame, messages, raw};
use crate::wire::frame::{Decoder, Frame, HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::wire::{Kind, Message, WireError};
use random::Random;

/// Frames of a stream in pieces, and the error at which it ends.
fn taken(stream: &[u8], piece: usize) -> (Vec<Frame>, Option<WireError>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for part in stream.chunks(piece) {
        decoder.push(part);
        loop {
            match decoder.take() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        assert!(decoder.held_bytes() < HEADER_BYTES + MAX_PAYLOAD_BYTES);
    }
    (frames, decoder.finish().err())
}

#[test]
fn a_frame_has_the_bytes_of_the_table() {
    let frame = Frame { kind: Kind::ALIVE, channel: 0x0102, sequence: 0x0304, payload: bytes::Bytes::new() };
    let bytes = frame.to_bytes();
    assert_eq!(bytes[..24], *b"WLr1\x03\0\x02\x01\0\0\0\0\0\0\0\0\x04\x03\0\0\0\0\0\0");
    assert_eq!(bytes[28..], [0; 4]);
    assert_eq!(taken(&bytes, 5), (vec![frame], None));
}

#[test]
fn pieces_of_a_stream_make_the_same_frames() {
    let random = Random::new(1);
    let frames: Vec<Frame> = (0u64..).zip(&messages(&random)).map(|(number, message)| frame(number, message)).collect();
    let stream: Vec<u8> = frames.iter().flat_map(Frame::to_bytes).collect();
    for piece in [1, 7, 31, 32, 33, 4096, stream.len()] {
        assert_eq!(taken(&stream, piece), (frames.clone(), None));
    }
}

#[test]
fn a_stream_that_ends_within_a_frame_is_an_error() {
    let random = Random::new(2);
    for message in messages(&random).iter().filter(|message| message.kind() != Kind::WRITE) {
        let bytes = frame(0, message).to_bytes();
        for end in 1..bytes.len() {
            let (frames, error) = taken(&bytes[..end], bytes.len());
            assert!(frames.is_empty() && error == Some(WireError::Truncated), "{end} of {}", bytes.len());
        }
    }
}

#[test]
fn no_flipped_bit_passes() {
    let random = Random::new(3);
    for message in messages(&random) {
        let good = [frame(0, &message).to_bytes(), frame(1, &Message::Alive).to_bytes()].concat();
        let length = good.len() - HEADER_BYTES;
        // All bits of the header, and some of a long payload.
        let payload = (HEADER_BYTES..length).step_by(1 + (length - HEADER_BYTES) / 600);
        for at in (0..HEADER_BYTES).chain(payload) {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let (frames, error) = taken(&bad, bad.len());
                assert!(frames.is_empty() && error.is_some(), "{} byte {at} bit {bit}: {frames:?}", message.kind());
            }
        }
    }
}

/// A header with these lengths and a right checksum.
fn header(kind: u8, flags: u8, bytes: u32, unpacked: u32) -> Vec<u8> {
    let mut header = raw(Kind::ALIVE, &[]).header();
    header[4] = kind;
    header[5] = flags;
    header[8..12].copy_from_slice(&bytes.to_le_bytes());
    header[12..16].copy_from_slice(&unpacked.to_le_bytes());
    header.to_vec()
}

#[test]
fn lengths_above_the_limit_of_a_type_are_refused_before_the_payload_comes() {
    let refused = |kind: Kind, bytes, unpacked| taken(&header(kind.0, 0, bytes, unpacked), 32).1;
    for kind in Kind::ALL.iter().copied().chain([Kind(200)]) {
        let limit = kind.max_payload_bytes();
        assert!(limit as usize <= MAX_PAYLOAD_BYTES);
        assert_eq!(refused(kind, limit + 1, limit + 1), Some(WireError::TooLong { bytes: limit + 1, limit }));
        assert_eq!(refused(kind, 8, u32::MAX), Some(WireError::TooLong { bytes: u32::MAX, limit }));
        assert_eq!(refused(kind, 8, 9), Some(WireError::Unpacked { bytes: 8, unpacked: 9 }));
    }
    assert_eq!(taken(&header(32, 1, 8, 4096), 32).1, Some(WireError::Feature { flags: 1 }));
    assert_eq!(taken(b"GET / HTTP/1.1", 32).1, Some(WireError::Magic));
    assert_eq!(taken(b"WLr", 1).1, Some(WireError::Truncated));
}
