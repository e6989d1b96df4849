#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::num::NonZeroU32;

use bytes::Bytes;
use hex_literal::hex;

use crate::*;

const SEEDS: u64 = 2000;

types! {
    /// The example of RFC 4506 §7.
    struct File {
        /// Name.
        filename: Opaque<255>,
        /// Kind with what it has.
        kind: FileType,
        /// Owner.
        owner: Opaque<32>,
        /// Content.
        data: Opaque<65535>,
    }
    /// Kinds of files.
    union FileType {
        /// Text.
        0 => Text,
        /// Data with its creator.
        1 => Data(creator: Opaque<255>),
        /// Program with its interpreter.
        2 => Exec(interpreter: Opaque<255>),
    }
    /// Every other form.
    struct Everything {
        /// Signed.
        small: i32,
        /// Signed hyper.
        large: i64,
        /// Unsigned.
        count: u32,
        /// Unsigned hyper.
        size: u64,
        /// Fixed opaque with padding.
        verifier: [u8; 6],
        /// Optional.
        owner: Option<Opaque<8, 1>>,
        /// Array.
        kinds: Array<Colour, 3>,
        /// List.
        names: List<Opaque<16>, 4>,
        /// Union with a default arm.
        open: Open,
        /// Number with names.
        code: Code,
        /// Status.
        outcome: Result<u64, Refusal>,
    }
    /// Closed enumeration.
    enum Colour {
        /// First.
        Red = 2,
        /// Second.
        Yellow = 3,
    }
    /// Open code.
    codes Code {
        /// One.
        ONE = 1,
        /// Forty.
        FORTY = 40,
    }
    /// Union with a default arm.
    union Open else Other {
        /// With a value.
        7 => Seven(value: Box<bool>),
    }
}

/// Status with a detail for one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(NonZeroU32, Option<u32>);

impl Failure for Refusal {
    fn code(&self) -> NonZeroU32 {
        self.0
    }
    fn encode_details(&self, writer: &mut Writer) {
        if let Some(detail) = self.1 {
            writer.u32(detail);
        }
    }
    fn decode_details(code: NonZeroU32, reader: &mut Reader) -> Result<Self, XdrError> {
        Ok(Self(code, if code.get() == 10010 { Some(reader.u32()?) } else { None }))
    }
}

impl Sample for Refusal {
    fn sample(random: &Random) -> Self {
        if random.chance(50) {
            Self(NonZeroU32::new(10010).unwrap(), Some(u32::sample(random)))
        } else {
            Self(NonZeroU32::MIN, None)
        }
    }
}

fn encoded<T: Xdr>(value: &T) -> Bytes {
    let mut writer = Writer::default();
    value.encode(&mut writer);
    let length = writer.length_bytes();
    let bytes = writer.into_bytes();
    assert_eq!(bytes.len(), length);
    bytes
}

fn decoded<T: Xdr>(bytes: &[u8]) -> Result<T, XdrError> {
    let mut reader = Reader::strict(Bytes::copy_from_slice(bytes));
    let value = T::decode(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

fn everything() -> (Everything, Vec<u8>) {
    let value = Everything {
        small: -2,
        large: -3,
        count: 4,
        size: 5,
        verifier: *b"abcdef",
        owner: Some("me".into()),
        kinds: vec![Colour::Yellow, Colour::Red].into(),
        names: vec!["a".into(), "bcde".into()].into(),
        open: Open::Seven(Box::new(true)),
        code: Code::FORTY,
        outcome: Err(Refusal(NonZeroU32::new(10010).unwrap(), Some(9))),
    };
    let bytes = hex!(
        "fffffffe fffffffffffffffd 00000004 0000000000000005" // numbers
        "616263646566 0000"                                    // verifier, padding
        "00000001 00000002 6d65 0000"                          // owner
        "00000002 00000003 00000002"                           // kinds
        "00000001 00000001 61 000000 00000001 00000004 62636465 00000000" // names
        "00000007 00000001 00000028 0000271a 00000009"
    );
    (value, bytes.to_vec())
}

/// RFC 4506 §7: the file `sillyprog`.
#[test]
fn the_example_of_the_standard() {
    let file = File {
        filename: "sillyprog".into(),
        kind: FileType::Exec("lisp".into()),
        owner: "john".into(),
        data: "(quit)".into(),
    };
    let bytes = hex!(
        "00000009 73696c6c 7970726f 67000000 00000002 00000004 6c697370"
        "00000004 6a6f686e 00000006 28717569 74290000"
    );
    assert_eq!(encoded(&file), &bytes[..]);
    assert_eq!(decoded::<File>(&bytes).unwrap(), file);
    assert_eq!(File::MIN_BYTES, 16);
}

#[test]
fn every_form_has_the_bytes_of_the_standard() {
    let (value, bytes) = everything();
    assert_eq!(encoded(&value), &bytes[..]);
    assert_eq!(decoded::<Everything>(&bytes).unwrap(), value);
    assert_eq!(encoded(&Open::Other(3)), &hex!("00000003")[..]);
    assert_eq!(encoded(&Ok::<u64, Refusal>(1)), &hex!("00000000 0000000000000001")[..]);
    assert_eq!(format!("{:?} {:?}", Code::ONE, Code(2)), "ONE Code(2)");
}

#[test]
fn values_survive_the_way_there_and_back() {
    for seed in 0..SEEDS {
        let random = Random::new(seed);
        let value = Everything::sample(&random);
        assert_eq!(decoded::<Everything>(&encoded(&value)).unwrap(), value, "seed {seed}");
        let file = File::sample(&random);
        assert_eq!(decoded::<File>(&encoded(&file)).unwrap(), file, "seed {seed}");
    }
}

#[test]
fn a_message_that_ends_early_is_truncated_at_every_byte() {
    let (_, bytes) = everything();
    for length in 0..bytes.len() {
        let error = decoded::<Everything>(&bytes[..length]).unwrap_err();
        let Problem::Truncated { wanted, found } = error.problem else { panic!("{length}: {error}") };
        assert!(wanted > found && error.at_bytes as u64 + found == length as u64, "{length}: {error}");
        assert!(error.what.starts_with("Everything.") || error.what == "Open.value", "{length}: {error}");
    }
    let long = [&bytes[..], &[0; 4]].concat();
    assert_eq!(decoded::<Everything>(&long).unwrap_err().problem, Problem::Trailing { found: 4 });
}

#[test]
fn any_flipped_bit_is_another_value_or_an_error() {
    let (value, bytes) = everything();
    for bit in 0..bytes.len() * 8 {
        let mut other = bytes.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        if let Ok(decoded) = decoded::<Everything>(&other) {
            assert_ne!(decoded, value, "bit {bit}");
            assert_eq!(encoded(&decoded), &other[..], "bit {bit}");
        }
    }
}

#[test]
fn errors_say_what_where_wanted_and_found() {
    let error = decoded::<Opaque<8, 1>>(&hex!("00000009 616263646566676869 000000")).unwrap_err();
    assert_eq!((error.at_bytes, error.problem), (0, Problem::TooLong { found: 9, maximum: 8 }));
    let error = decoded::<Opaque<8, 1>>(&hex!("00000000")).unwrap_err();
    assert_eq!(error.problem, Problem::TooShort { found: 0, minimum: 1 });
    let error = decoded::<Array<u32, 2>>(&hex!("00000003 000000010000000200000003")).unwrap_err();
    assert_eq!(error.problem, Problem::TooMany { found: 3, maximum: 2 });
    let error = decoded::<List<u32, 1>>(&hex!("00000001 00000001 00000001 00000002 00000000")).unwrap_err();
    assert_eq!((error.at_bytes, error.problem), (8, Problem::TooMany { found: 2, maximum: 1 }));
    let error = decoded::<bool>(&hex!("00000002")).unwrap_err();
    assert_eq!(error.problem, Problem::NotBoolean { found: 2 });
    let error = decoded::<Colour>(&hex!("00000004")).unwrap_err();
    assert_eq!(error.to_string(), "value at byte 0: no such value: 4");
    let error = decoded::<File>(&hex!("00000000 00000003")).unwrap_err();
    assert_eq!(error.to_string(), "File.kind at byte 4: no such value: 3");
    let error = decoded::<File>(&hex!("00000000 00000000 00000021")).unwrap_err();
    assert_eq!(error.to_string(), "File.owner at byte 8: 33 bytes, at most 32 allowed");
}

/// Lengths that a peer makes up take no memory: the count is compared with what is there first.
#[test]
fn huge_lengths_allocate_nothing() {
    let error = decoded::<Opaque<{ u32::MAX }>>(&hex!("ffffffff 00000000")).unwrap_err();
    assert_eq!(error.problem, Problem::Truncated { wanted: 0xffff_ffff, found: 4 });
    let error = decoded::<Array<u64, { u32::MAX }>>(&hex!("ffffffff 0000000000000000")).unwrap_err();
    assert_eq!(error.problem, Problem::Truncated { wanted: 8 * 0xffff_ffff, found: 8 });
    let words = [&hex!("00010000")[..], &[0; 1 << 18]].concat();
    let huge = decoded::<Array<Opaque<{ u32::MAX }>, { u32::MAX }>>(&words).unwrap();
    assert_eq!(huge.len(), 1 << 16);
    assert!(decoded::<List<u32, { u32::MAX }>>(&hex!("00000001 00000001 00000001 00000002 00000001")).is_err());
}

/// RFC 4506 §3: senders write zeros. Servers accept any padding (fact 30); a strict reader does not.
#[test]
fn padding_is_written_as_zeros_and_may_be_anything() {
    assert_eq!(encoded(&Opaque::<9>::from("hello")), &hex!("00000005 68656c6c6f 000000")[..]);
    let odd = hex!("00000005 68656c6c6f 00ff00");
    let mut reader = Reader::new(Bytes::copy_from_slice(&odd));
    assert_eq!(&*Opaque::<9>::decode(&mut reader).unwrap(), b"hello");
    assert_eq!(reader.remaining_bytes(), 0);
    assert_eq!(decoded::<Opaque<9>>(&odd).unwrap_err().problem, Problem::Padding { found: 0xff });
    assert!(decoded::<Opaque<9>>(&odd[..11]).is_err());
}

#[test]
fn opaque_data_is_a_slice_of_the_message() {
    let message = Bytes::from(hex!("00000005 68656c6c6f 000000").to_vec());
    let range = message.as_ptr_range();
    let data = Reader::new(message.clone()).opaque(9).unwrap();
    assert!(range.contains(&data.as_ptr()));
}

#[test]
fn large_data_is_shared_and_the_rest_is_one_buffer() {
    let large = Bytes::from(vec![7; 5001]);
    let mut writer = Writer::default();
    let slot = writer.reserve();
    writer.payload(&large);
    writer.payload(&Bytes::from_static(b"small"));
    assert_eq!(writer.length_bytes(), 4 + 4 + 5004 + 12);
    writer.fill(slot, 0xabcd);
    let chunks = writer.into_chunks();
    assert_eq!(chunks.iter().map(Bytes::len).collect::<Vec<_>>(), [8, 5001, 15]);
    assert_eq!(chunks[1].as_ptr(), large.as_ptr());
    assert_eq!(chunks[0], &hex!("0000abcd 00001389")[..]);
    assert_eq!(chunks[2], &hex!("000000 00000005 736d616c6c 000000")[..]);
}

#[test]
fn what_did_not_fit_is_taken_back() {
    let mut writer = Writer::with_capacity(64);
    writer.u32(1);
    writer.payload(&Bytes::from(vec![1; 3000]));
    let mark = writer.mark();
    let before = writer.length_bytes();
    writer.u64(2);
    let gone = writer.reserve();
    writer.payload(&Bytes::from(vec![2; 4000]));
    assert_eq!(writer.length_since(mark), 8 + 4 + 4 + 4000);
    writer.truncate(mark);
    writer.fill(gone, 9);
    assert_eq!((writer.length_bytes(), writer.length_since(mark)), (before, 0));
    writer.u32(3);
    let bytes = writer.into_bytes();
    assert_eq!((bytes.len(), &bytes[bytes.len() - 4..]), (before + 4, &hex!("00000003")[..]));
}

#[test]
fn debug_shows_the_start_of_long_data() {
    assert_eq!(format!("{:?}", Opaque::<100>::from("a\n")), r#""a\n""#);
    let long = format!("{:?}", Opaque::<1000>::from(vec![b'x'; 500]));
    assert!(long.ends_with("… 500 bytes") && long.len() < 100, "{long}");
}
