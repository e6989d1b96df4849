//! Framing: any bytes as a stream of PDUs, in one piece and in several; and PDUs through [`Output`]
//! and back.

use super::wire;
use crate::input::{Reader, Writer};
use bytes::{Bytes, BytesMut};
use iscsi::framing::Digests;
use iscsi::framing::{FramingError, Output, Pdu, take_pdu};

/// Input: flags (bits 0, 1: digests in use; bit 2: PDUs to send; bit 3: correct the digests of the
/// stream), limit (3 bytes), size of the pieces (1 byte), and the stream.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    let flags = reader.u8();
    let digests = Digests { header: flags & 1 != 0, data: flags & 2 != 0 };
    let [a, b, c] = reader.bytes();
    let limit = u32::from_be_bytes([0, a, b, c]);
    let piece = usize::from(reader.u8()).max(1);
    if flags & 4 != 0 {
        return there_and_back(reader, digests);
    }
    let stream = if flags & 8 != 0 { sealed(reader, digests) } else { reader.rest().to_vec() };

    let whole = take_all(&mut BytesMut::from(&stream[..]), digests, limit);
    let mut pieces = (Vec::new(), None);
    let mut buffer = BytesMut::new();
    for part in stream.chunks(piece) {
        buffer.extend_from_slice(part);
        let (pdus, error) = take_all(&mut buffer, digests, limit);
        pieces.0.extend(pdus);
        if error.is_some() {
            pieces.1 = error;
            break;
        }
    }
    // A digest error ends both; the PDUs before it are equal however the bytes were split.
    assert_eq!(pieces.1.is_some(), whole.1.is_some(), "pieces make another end");
    assert_eq!(pieces.0.len(), whole.0.len(), "pieces make other PDUs");
    for (one, other) in pieces.0.iter().zip(&whole.0) {
        assert!(one.header == other.header && one.additional == other.additional && one.data == other.data);
    }
}

fn take_all(buffer: &mut BytesMut, digests: Digests, limit: u32) -> (Vec<Pdu>, Option<FramingError>) {
    let mut pdus = Vec::new();
    loop {
        match take_pdu(buffer, digests, limit) {
            Ok(Some(pdu)) => {
                assert!(pdu.data.len() <= limit as usize && pdu.additional.len() <= 1020);
                pdus.push(pdu);
            }
            Ok(None) => {
                assert!(buffer.capacity() <= (limit as usize + 8192) * 2 + 65_536, "too much room was made");
                return (pdus, None);
            }
            Err(error) => return (pdus, Some(error)),
        }
    }
}

/// PDUs by their parts, with correct lengths and digests unless a step says otherwise.
fn sealed(mut reader: Reader<'_>, digests: Digests) -> Vec<u8> {
    let mut stream = Vec::new();
    while !reader.is_empty() && stream.len() < 1 << 20 {
        let how = reader.u8();
        let header = reader.bytes();
        let additional = reader.short();
        let data = reader.long();
        let mut bytes = wire::pdu(header, additional, data, digests);
        if how & 1 != 0 {
            let at = usize::from(reader.u16()) % bytes.len();
            bytes[at] ^= reader.u8();
        }
        stream.extend_from_slice(&bytes);
    }
    stream
}

fn there_and_back(mut reader: Reader<'_>, digests: Digests) {
    let mut output = Output::default();
    let mut sent = Vec::new();
    while !reader.is_empty() && sent.len() < 64 {
        let kind = reader.u8();
        let header: [u8; 48] = reader.bytes();
        let data = reader.long();
        match kind % 3 {
            0 => output.push_header(header, digests),
            1 => output.push_slice(header, data, digests),
            _ => output.push_bytes(header, Bytes::copy_from_slice(data).repeat(1 + usize::from(kind)).into(), digests),
        }
        sent.push((header, kind, data.len()));
    }
    let mut stream = BytesMut::new();
    while let Some(chunk) = output.next_chunk() {
        stream.extend_from_slice(&chunk);
    }
    assert_eq!(output.queued_bytes(), 0);
    let (pdus, error) = take_all(&mut stream, digests, 0x00FF_FFFF);
    assert!(error.is_none() && stream.is_empty(), "what was sent is not taken: {error:?}");
    assert_eq!(pdus.len(), sent.len());
    for (pdu, (header, kind, length)) in pdus.iter().zip(sent) {
        assert_eq!((&pdu.header[..4], &pdu.header[8..]), (&header[..4], &header[8..]));
        let expected = match kind % 3 {
            0 => 0,
            1 => length,
            _ => length * (1 + usize::from(kind)),
        };
        assert_eq!(pdu.data.len(), expected);
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let ping = |data: &[u8], digests| wire::pdu([0; 48], &[], data, digests);
    let head = |flags: u8, piece: u8| Writer::default().u8(flags).raw(&[0, 0x20, 0]).u8(piece);
    let both = Digests { header: true, data: true };
    let none = Digests::default();
    vec![
        head(0, 1).raw(&ping(b"hello", none)).raw(&ping(b"", none)).0,
        head(3, 7).raw(&ping(b"hello", both)).raw(&ping(&[7; 300], both)).0,
        head(3, 48).raw(&wire::pdu([0x01; 48], &[0; 8], b"with additional segments", both)).0,
        head(4, 1)
            .u8(1)
            .raw(&[1; 48])
            .long(b"some data")
            .u8(0)
            .raw(&[2; 48])
            .long(b"")
            .u8(2)
            .raw(&[3; 48])
            .long(&[9; 99])
            .0,
        head(11, 5)
            .u8(0)
            .raw(&[1; 48])
            .short(&[0; 12])
            .long(b"data")
            .u8(1)
            .raw(&[5; 48])
            .short(b"")
            .long(b"")
            .u16(3)
            .u8(1)
            .0,
    ]
}
