//! Attributes, bitmaps and stateids against bytes by hand, after the XDR of RFC 7863; and made-up
//! values there and back.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use bytes::Bytes;
use hex_literal::hex;
use xdr::{Problem, Random, Reader, Sample, Writer, Xdr};

use super::attributes::{ATTRIBUTES, Attribute, AttributeError, Direction, Fattr, SetTime};
use super::*;

const SEEDS: u64 = 3000;

fn written(write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut writer = Writer::default();
    write(&mut writer);
    writer.into_bytes()
}

/// Facts 540, 541 and 542.
#[test]
fn bitmaps_are_short_when_written_and_may_be_padded() {
    let set = Bitmap::new([0, 33, 78, 300]);
    let bytes = hex!("00000003 00000001 00000002 00004000");
    assert_eq!(written(|writer| set.encode(writer)), &bytes[..]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [0, 33, 78]);
    assert_eq!(written(|writer| Bitmap::EMPTY.encode(writer)), &hex!("00000000")[..]);
    let decoded = |bytes: &[u8]| Bitmap::decode(&mut Reader::new(Bytes::copy_from_slice(bytes)));
    for words in [8, 12] {
        let padded = [&[0, 0, 0, words], &bytes[4..], &vec![0; 4 * usize::from(words - 3)]].concat();
        assert_eq!(decoded(&padded), Ok(set));
    }
    let high = decoded(&[&hex!("00000007")[..], &[0; 24], &hex!("00000100")].concat()).unwrap();
    assert_eq!(format!("{high:?}"), "{200}");
    let beyond = [&hex!("00000009")[..], &[0; 32], &hex!("00000001")].concat();
    assert_eq!(decoded(&beyond).unwrap_err().problem, Problem::TooMany { found: 9, maximum: 8 });
    assert!(matches!(decoded(&hex!("3fffffff 00000000")).unwrap_err().problem, Problem::Truncated { .. }));
    let mut some = Bitmap::new([1, 2, 3]);
    some.remove(2);
    assert_eq!(some.intersection(&Bitmap::new([2, 3])), Bitmap::new([3]));
    assert_eq!(some.difference(&Bitmap::new([2, 3])), Bitmap::new([1]));
    assert!(Bitmap::new([256]).is_empty() && !some.contains(u32::MAX));
}

#[test]
fn attributes_have_the_bytes_of_the_standard() {
    let attributes = [
        Attribute::Owner("1000".into()),
        Attribute::Type(FileType::Directory),
        Attribute::Size(5),
        Attribute::TimeModifySet(SetTime::ClientTime(Time { seconds: 1, nanoseconds: 2 })),
        Attribute::ReadError(Err(Status::ACCESS)),
    ];
    let fattr = Fattr::new(attributes.clone());
    let bytes = hex!(
        "00000002 00000812 00400010" // 1, 4, 11; 36, 54
        "00000028 00000002 0000000000000005 0000000d 00000004 31303030 00000001 0000000000000001 00000002"
    );
    assert_eq!(written(|writer| fattr.encode(writer)), &bytes[..]);
    let read = fattr.attributes().unwrap();
    let numbers: Vec<u32> = read.iter().map(Attribute::number).collect();
    assert_eq!(numbers, [1, 4, 11, 36, 54]);
    assert!(attributes.iter().all(|attribute| read.contains(attribute)));

    let mut writer = Writer::default();
    let wanted = Bitmap::new([1, 4, 11, 36, 54, 47, 90]);
    let set = Fattr::write(&mut writer, &wanted, |number| read.iter().find(|one| one.number() == number).cloned());
    assert_eq!(set, fattr.mask);
    let mut reader = Reader::strict(writer.into_bytes());
    assert_eq!(Fattr::decode(&mut reader), Ok(fattr));
    reader.finish().unwrap();
}

/// Facts 371, 550 and 552.
#[test]
fn attributes_that_are_unknown_cut_short_or_too_long() {
    let fattr =
        |numbers: &[u32], values: &[u8]| Fattr { mask: Bitmap::new(numbers.iter().copied()), values: values.into() };
    let unknown = fattr(&[4, 100], &[0; 12]).attributes().unwrap_err();
    assert_eq!((unknown, unknown.status()), (AttributeError::NotSupported { number: 100 }, Status::ATTRNOTSUPP));
    for length in 0..8 {
        let error = fattr(&[4], &[0; 8][..length]).attributes().unwrap_err();
        assert_eq!(error.status(), Status::BADXDR, "{length}");
        assert!(matches!(error, AttributeError::Malformed(error) if error.what == "size"));
    }
    let error = fattr(&[4], &[0; 12]).attributes().unwrap_err();
    assert!(matches!(error, AttributeError::Malformed(error) if error.problem == Problem::Trailing { found: 4 }));
    assert_eq!(Fattr::none().attributes(), Ok(vec![]));
}

#[test]
fn special_stateids_are_those_of_the_standard() {
    let bytes = |stateid: &Stateid| written(|writer| stateid.encode(writer));
    assert_eq!(bytes(&Stateid::ANONYMOUS), &[0; 16][..]);
    assert_eq!(bytes(&Stateid::READ_BYPASS), &[0xff; 16][..]);
    assert_eq!(bytes(&Stateid::CURRENT), &hex!("00000001 000000000000000000000000")[..]);
    assert_eq!(bytes(&Stateid::INVALID), &hex!("ffffffff 000000000000000000000000")[..]);
}

#[test]
fn the_tables_are_those_of_the_standard() {
    assert!(ATTRIBUTES.is_sorted_by_key(|row| row.number));
    let required: Vec<u32> = (0..12).chain([19, 75]).collect();
    assert!(required.iter().all(|number| attributes::row(*number).is_some()));
    assert_eq!(attributes::row(48).map(|row| row.direction), Some(Direction::Write));
    assert!(Status::ALL.is_sorted());
    assert_eq!((Status::XATTR2BIG.number(), Status::XATTR2BIG.name()), (10096, Some("XATTR2BIG")));
}

#[test]
fn attributes_survive_the_way_there_and_back() {
    for seed in 0..SEEDS {
        let random = Random::new(seed);
        let fattr = Fattr::new((0..20).map(|_| Attribute::sample(&random)));
        assert_eq!(Fattr::new(fattr.attributes().unwrap()), fattr, "seed {seed}");
    }
}
