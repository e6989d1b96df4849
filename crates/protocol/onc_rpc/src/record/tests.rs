#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use bytes::BufMut;
use hex_literal::hex;
use xdr::Random;

use super::*;

const MAX: usize = 1 << 20;

fn records(stream: &[u8], piece: usize) -> (Vec<Bytes>, Result<usize, RecordError>) {
    let mut reassembly = Reassembly::new(MAX);
    let mut input = BytesMut::new();
    let mut records = Vec::new();
    let mut last = Ok(HEADER_BYTES);
    for bytes in stream.chunks(piece) {
        input.extend_from_slice(bytes);
        loop {
            match reassembly.take(&mut input) {
                Ok(Progress::Record(record)) => records.push(record),
                Ok(Progress::Incomplete { missing_bytes }) => {
                    assert!(missing_bytes > 0 && missing_bytes <= MAX + HEADER_BYTES);
                    last = Ok(missing_bytes);
                    break;
                }
                Err(error) => return (records, Err(error)),
            }
        }
    }
    (records, last)
}

fn fragment(data: &[u8], last: bool) -> Vec<u8> {
    let header = data.len() as u32 | if last { LAST } else { 0 };
    [&header.to_be_bytes(), data].concat()
}

#[test]
fn a_record_is_one_fragment_by_the_bytes_of_the_standard() {
    let (taken, last) = records(&hex!("80000008 0102030405060708"), 100);
    assert_eq!(taken, [&hex!("0102030405060708")[..]]);
    assert_eq!(last, Ok(4));
    let mut writer = Writer::default();
    let record = Record::start(&mut writer);
    writer.u64(0x0102_0304_0506_0708);
    assert_eq!(record.length_bytes(&writer), 8);
    record.finish(&mut writer).unwrap();
    assert_eq!(writer.into_bytes(), &hex!("80000008 0102030405060708")[..]);
}

/// Facts 2, 4 and 5: fragments (the first of 4 bytes, one empty), segments of one byte, and many
/// records in one segment.
#[test]
fn records_survive_any_fragments_and_any_segments() {
    let random = Random::new(1);
    let mut stream = Vec::new();
    let mut sent = Vec::new();
    for _ in 0..64 {
        let mut record = vec![0; 8 + random.index(300)];
        random.fill(&mut record);
        let (first, rest) = record.split_at(4);
        let (second, third) = rest.split_at(random.index(rest.len()));
        stream.extend(
            [fragment(first, false), fragment(&[], false), fragment(second, false), fragment(third, true)].concat(),
        );
        stream.extend(fragment(&record, true));
        sent.extend([record.clone(), record]);
    }
    for piece in [1, 3, 4, 5, 100, stream.len()] {
        let (taken, last) = records(&stream, piece);
        assert_eq!(taken, sent, "pieces of {piece}");
        assert_eq!(last, Ok(4));
    }
}

#[test]
fn a_record_of_one_fragment_is_not_copied() {
    let mut input = BytesMut::from(&fragment(&[7; 5000], true)[..]);
    let address = input.as_ptr().wrapping_add(4);
    let Progress::Record(record) = Reassembly::new(MAX).take(&mut input).unwrap() else { panic!("no record") };
    assert_eq!(record.as_ptr(), address);
}

/// Fact 6: an announced length takes no memory, and is refused before the bytes arrive.
#[test]
fn a_length_above_the_limit_ends_the_stream_at_the_header() {
    let too_long = |announced| RecordError::TooLong { announced_bytes: announced, maximum_bytes: MAX as u64 };
    assert_eq!(records(&hex!("7fffffff"), 4).1, Err(too_long(0x7fff_ffff)));
    assert_eq!(records(&hex!("ffffffff"), 1).1, Err(too_long(0x7fff_ffff)));
    assert_eq!(records(&(LAST | (MAX as u32 + 1)).to_be_bytes(), 4).1, Err(too_long(MAX as u64 + 1)));
    assert_eq!(records(&(LAST | MAX as u32).to_be_bytes(), 4).1, Ok(MAX));
    let mut input = BytesMut::from(&(LAST | MAX as u32).to_be_bytes()[..]);
    let capacity = input.capacity();
    Reassembly::new(MAX).take(&mut input).unwrap();
    assert_eq!(input.capacity(), capacity);
}

/// Fact 7: the sum counts, and not each fragment.
#[test]
fn fragments_whose_sum_is_above_the_limit_end_the_stream() {
    let mut stream = fragment(&vec![1; MAX], false);
    stream.extend(fragment(&[1], true));
    let announced_bytes = MAX as u64 + 1;
    assert_eq!(records(&stream, 4096).1, Err(RecordError::TooLong { announced_bytes, maximum_bytes: MAX as u64 }));
    let mut stream = fragment(&vec![1; MAX - 1], false);
    stream.extend(fragment(&[1], true));
    assert_eq!(records(&stream, 4096).0[0].len(), MAX);
}

/// Fragments that add nothing must not keep a connection busy without end.
#[test]
fn empty_fragments_without_end_end_the_stream() {
    let stream = fragment(&[], false).repeat(MAX_FRAGMENTS as usize + 1);
    assert_eq!(records(&stream, 4096), (vec![], Err(RecordError::TooManyFragments)));
    let mut most = fragment(&[], false).repeat(MAX_FRAGMENTS as usize - 1);
    most.extend(fragment(&[1; 8], true));
    assert_eq!(records(&most.repeat(2), 1).0.len(), 2);
}

/// Fact 8.
#[test]
fn a_record_that_is_no_message_ends_the_stream() {
    assert_eq!(records(&hex!("80000004 01020304"), 9).1, Err(RecordError::TooShort { found_bytes: 4 }));
    assert_eq!(records(&hex!("80000000"), 9).1, Err(RecordError::TooShort { found_bytes: 0 }));
    assert_eq!(records(&hex!("00000004 01020304 80000003 010203"), 9).1, Err(RecordError::TooShort { found_bytes: 7 }));
}

/// Fact 33: half a record stays half a record.
#[test]
fn what_is_missing_is_known() {
    let mut reassembly = Reassembly::new(MAX);
    let mut input = BytesMut::from(&hex!("00000004 01020304 8000")[..]);
    assert_eq!(reassembly.take(&mut input).unwrap(), Progress::Incomplete { missing_bytes: 2 });
    assert_eq!(reassembly.held_bytes(), 4);
    input.put_slice(&hex!("0008 01"));
    assert_eq!(reassembly.take(&mut input).unwrap(), Progress::Incomplete { missing_bytes: 7 });
    input.put_slice(&[2; 7]);
    assert!(matches!(reassembly.take(&mut input).unwrap(), Progress::Record(record) if record.len() == 12));
    assert_eq!(reassembly.held_bytes(), 0);
}

#[test]
fn several_records_with_shared_data_are_written_one_after_the_other() {
    let mut writer = Writer::default();
    for length in [10, 5000, 0] {
        let record = Record::start(&mut writer);
        writer.u32(9);
        writer.payload(&vec![3; length].into());
        record.finish(&mut writer).unwrap();
    }
    let (taken, last) = records(&writer.into_chunks().concat(), 1000);
    assert_eq!(taken.iter().map(Bytes::len).collect::<Vec<_>>(), [20, 5008, 8]);
    assert_eq!(last, Ok(4));
}

#[test]
fn the_header_of_a_record_in_chunks_is_that_of_a_written_one() {
    let mut writer = Writer::default();
    let record = Record::start(&mut writer);
    writer.fixed(&[7; 12]);
    record.finish(&mut writer).unwrap();
    assert_eq!(writer.into_bytes()[..HEADER_BYTES], header(12).unwrap());
    assert_eq!(header(12).unwrap(), hex!("8000000c"));
    assert!(matches!(header(1 << 31), Err(RecordError::TooLong { .. })));
}
