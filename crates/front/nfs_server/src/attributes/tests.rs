//! Attributes: what is served has a value, and what is set was checked.

use super::*;
use nfs::v4::attributes::SetTime as WireTime;
use vfs::{ChangeValue, FileId};

const FILE: Attributes = Attributes {
    file: FileId(77),
    kind: Kind::File,
    mode: 0o644,
    links: 1,
    user: 1000,
    group: 20,
    size_bytes: 41_060,
    used_bytes: 45_056,
    device: vfs::Device { major: 0, minor: 0 },
    change: ChangeValue(5),
    accessed: match Timestamp::new(10, 1) {
        Some(time) => time,
        None => panic!("a time"),
    },
    modified: match Timestamp::new(11, 2) {
        Some(time) => time,
        None => panic!("a time"),
    },
    changed: match Timestamp::new(12, 3) {
        Some(time) => time,
        None => panic!("a time"),
    },
    born: match Timestamp::new(9, 0) {
        Some(time) => time,
        None => panic!("a time"),
    },
};

fn place(minor: u32) -> Place {
    Place {
        fsid: FileSystemId { major: 3, minor: 4 },
        limits: crate::pseudo::LIMITS,
        lease_seconds: 30,
        minor,
        xattrs: true,
        capacity: Capacity {
            total_bytes: 100,
            free_bytes: 60,
            available_bytes: 50,
            used_bytes: 40,
            files: 9,
            free_files: 8,
        },
    }
}

fn with<T>(minor: u32, test: impl FnOnce(&Subject<'_>) -> T) -> T {
    let space = Space { mapped_bytes: 1, promised_bytes: 2, freed_bytes: 4096 };
    test(&Subject { place: &place(minor), file: &FILE, handle: b"handle", mounted_on: 77, space })
}

#[test]
fn every_attribute_that_is_served_has_a_value_or_can_be_set() {
    for minor in [1, 2] {
        with(minor, |subject| {
            for number in supported(minor).iter() {
                let value = subject.value(number).map(|value| value.number());
                let expected =
                    if row(number).map(|row| row.direction) == Some(Direction::Write) { None } else { Some(number) };
                assert_eq!(value, expected, "{number}");
            }
        });
    }
}

#[test]
fn required_attributes_are_served_and_acls_are_not() {
    for minor in [1, 2] {
        let served = supported(minor);
        assert!((0..=11).chain([19, 75]).all(|number| served.contains(number)));
        assert!(!served.contains(12) && !served.contains(13));
        assert_eq!([77, 78, 79, 82].map(|number| served.contains(number)), [minor == 2; 4]);
    }
}

#[test]
fn values_are_in_ascending_order_and_unknown_ones_are_left_out() {
    with(2, |subject| {
        let wanted = supported(2).iter().chain([12, 100, 200]).collect();
        let fattr = subject.fattr(&wanted);
        let read = fattr.attributes().map(|all| all.iter().map(Attribute::number).collect::<Vec<_>>());
        let readable = supported(2).difference(&Bitmap::new([48, 54]));
        assert_eq!(read, Ok(readable.iter().collect()));
        assert_eq!(fattr.mask, readable);
    });
}

#[test]
fn values_are_those_of_the_file() {
    with(2, |subject| {
        let value = |number| subject.value(number);
        assert_eq!(value(1), Some(Attribute::Type(FileType::Regular)));
        assert_eq!(value(4), Some(Attribute::Size(41_060)));
        assert_eq!(value(36), Some(Attribute::Owner("1000".into())));
        assert_eq!(value(37), Some(Attribute::OwnerGroup("20".into())));
        assert_eq!(value(45), Some(Attribute::SpaceUsed(45_056)));
        assert_eq!(value(53), Some(Attribute::TimeModify(Time { seconds: 11, nanoseconds: 2 })));
        assert_eq!(value(42), Some(Attribute::SpaceAvailable(50)));
        assert_eq!(value(43), Some(Attribute::SpaceFree(60)));
        assert_eq!(value(38), Some(Attribute::QuotaAvailableHard(50)));
        assert_eq!(value(39), Some(Attribute::QuotaAvailableSoft(50)));
        assert_eq!(value(40), Some(Attribute::QuotaUsed(40)));
        assert_eq!(value(77), Some(Attribute::CloneBlockSize(4096)));
        assert_eq!(value(78), Some(Attribute::SpaceFreed(4096)));
        assert_eq!(value(30), Some(Attribute::MaxRead(1 << 20)));
    });
}

#[test]
fn attributes_are_compared_by_value() {
    with(1, |subject| {
        let equals = |attributes: &[Attribute]| subject.equals(&Fattr::new(attributes.to_vec()));
        assert_eq!(equals(&[Attribute::Size(41_060), Attribute::Mode(0o644)]), Ok(true));
        assert_eq!(equals(&[Attribute::Size(41_060), Attribute::Mode(0o600)]), Ok(false));
        assert_eq!(equals(&[Attribute::XattrSupport(true)]), Err(Status::ATTRNOTSUPP));
        assert_eq!(equals(&[Attribute::TimeAccessSet(WireTime::ServerTime)]), Err(Status::INVAL));
        assert_eq!(equals(&[Attribute::ReadError(Ok(()))]), Err(Status::INVAL));
    });
}

fn set(attributes: impl IntoIterator<Item = Attribute>) -> Result<SetAttributes, Status> {
    to_set(&Fattr::new(attributes), 2)
}

#[test]
fn what_can_be_set_is_read() {
    let time = Time { seconds: -5, nanoseconds: 999_999_999 };
    let all = set([
        Attribute::Size(7),
        Attribute::Mode(0o4755),
        Attribute::Owner("0".into()),
        Attribute::OwnerGroup("4294967294".into()),
        Attribute::TimeAccessSet(WireTime::ServerTime),
        Attribute::TimeModifySet(WireTime::ClientTime(time)),
    ]);
    let expected = SetAttributes {
        mode: Some(0o4755),
        user: Some(0),
        group: Some(u32::MAX - 1),
        size_bytes: Some(7),
        accessed: Some(SetTime::Now),
        modified: Timestamp::new(-5, 999_999_999).map(SetTime::To),
    };
    assert_eq!(all, Ok(expected));
}

#[test]
fn owners_are_decimal_numbers() {
    for text in ["x@unknown", "root", "", "+1", "-1", "01", "1 ", "4294967295", "4294967296", "\u{661}"] {
        assert_eq!(set([Attribute::Owner(text.into())]), Err(Status::BADOWNER), "{text:?}");
        assert_eq!(set([Attribute::OwnerGroup(text.into())]), Err(Status::BADOWNER), "{text:?}");
    }
}

#[test]
fn what_cannot_be_set_is_refused() {
    assert_eq!(set([Attribute::Fileid(7)]), Err(Status::INVAL));
    assert_eq!(set([Attribute::TimeCreate(Time { seconds: 1, nanoseconds: 0 })]), Err(Status::ATTRNOTSUPP));
    assert_eq!(to_set(&Fattr { mask: Bitmap::new([100]), values: Vec::new().into() }, 2), Err(Status::ATTRNOTSUPP));
    assert_eq!(set([Attribute::Mode(0o10_000)]), Err(Status::INVAL));
    assert_eq!(set([Attribute::Mode(0x0001_0000)]), Err(Status::INVAL));
    let time = Time { seconds: 1, nanoseconds: 1_000_000_000 };
    assert_eq!(set([Attribute::TimeModifySet(WireTime::ClientTime(time))]), Err(Status::INVAL));
}

#[test]
fn values_have_to_fit_their_mask() {
    let mask = Bitmap::new([number::SIZE]);
    for length in [0, 4, 7, 12] {
        let fattr = Fattr { mask, values: vec![0; length].into() };
        assert_eq!(to_set(&fattr, 2), Err(Status::BADXDR), "{length} bytes");
    }
}
