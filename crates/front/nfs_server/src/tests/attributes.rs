//! GETATTR, SETATTR, VERIFY, NVERIFY, ACCESS.

use super::kit::{Kit, OBJECT, get, set, set_raw, write};
use crate::access::{Hosts, Rule, Rules};
use nfs::v4::attributes::{Attribute, Fattr, SetTime};
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::handles::{AccessArguments, AccessOk};
use nfs::v4::names::CreateType;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, Stateid, Status, Time};
use vfs::FileSystem;

const ANONYMOUS: Stateid = Stateid::ANONYMOUS;

fn supported(kit: &Kit) -> Bitmap {
    match kit.attribute("s", 0) {
        Attribute::SupportedAttributes(set) => set,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_that_is_supported_is_answered() {
    let kit = Kit::new();
    kit.file("f", b"x");
    for minor in [1, 2] {
        kit.minor.set(minor);
        let readable = supported(&kit).difference(&Bitmap::new([48, 54]));
        for path in ["", "s", "s/f"] {
            let numbers: Vec<_> = readable.iter().collect();
            let found: Vec<_> = kit.attributes(path, &numbers).iter().map(Attribute::number).collect();
            assert_eq!(found, numbers, "{path}");
        }
    }
}

#[test]
fn unknown_attributes_are_left_out_and_write_only_ones_refused() {
    let kit = Kit::new();
    assert_eq!(kit.attributes("s", &[12, 83, 200]), []);
    assert_eq!(kit.status_at("s", get(&[1, 48])), Err(Status::INVAL));
    assert_eq!(kit.status_at("s", get(&[54])), Err(Status::INVAL));
    kit.minor.set(1);
    assert_eq!(kit.attributes("s", &[77, 78, 79, 82]), []);
}

#[test]
fn limits_and_space_are_those_of_the_share() {
    let kit = Kit::new();
    let file = kit.file("f", &[1; 41_060]);
    assert_eq!(kit.attribute("s/f", 45), Attribute::SpaceUsed(45_056));
    assert_eq!(kit.attribute("s/f", 78), Attribute::SpaceFreed(45_056));
    assert_eq!(kit.attribute("s/f", 10), Attribute::LeaseTime(30));
    assert_eq!(kit.attribute("s/f", 27), Attribute::MaxFileSize(1 << 44));
    assert_eq!(kit.attribute("s/f", 20), Attribute::Fileid(file.0));
    let free = || match kit.attribute("s", 43) {
        Attribute::SpaceFree(bytes) => bytes,
        other => panic!("{other:?}"),
    };
    let before = free();
    kit.write("s/f", 45_056, &[1; 4096]);
    assert_eq!(free(), before - 4096);
}

#[test]
fn attributes_are_set_and_reported() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let time = Time { seconds: 5, nanoseconds: 6 };
    let all = [
        Attribute::Size(100),
        Attribute::Mode(0o600),
        Attribute::Owner("10".into()),
        Attribute::OwnerGroup("20".into()),
        Attribute::TimeModifySet(SetTime::ClientTime(time.clone())),
    ];
    match kit.at("s/f", [set(ANONYMOUS, all)]) {
        Outcome::SetAttributes(results) => {
            assert_eq!((results.status, results.set), (Ok(()), Bitmap::new([4, 33, 36, 37, 54])));
        }
        other => panic!("{other:?}"),
    }
    let found = kit.attributes("s/f", &[4, 33, 36, 37, 53]);
    let expected = [
        Attribute::Size(100),
        Attribute::Mode(0o600),
        Attribute::Owner("10".into()),
        Attribute::OwnerGroup("20".into()),
        Attribute::TimeModify(time),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_cannot_be_set_leaves_everything_as_it_was() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let before = kit.attributes("s/f", &[3, 4, 33, 36]);
    let mode = Attribute::Mode(0o600);
    let nanoseconds = 1_000_000_000;
    for (operation, status) in [
        (set(ANONYMOUS, [mode.clone(), Attribute::Fileid(9)]), Status::INVAL),
        (set(ANONYMOUS, [mode.clone(), Attribute::Owner("x@unknown".into())]), Status::BADOWNER),
        (set(ANONYMOUS, [mode.clone(), Attribute::OwnerGroup("wheel".into())]), Status::BADOWNER),
        (
            set(ANONYMOUS, [Attribute::TimeModifySet(SetTime::ClientTime(Time { seconds: 1, nanoseconds }))]),
            Status::INVAL,
        ),
        (set(ANONYMOUS, [mode.clone(), Attribute::Size((1 << 44) + 1)]), Status::FBIG),
        (set(Stateid { seqid: 1, other: [7; 12] }, [mode, Attribute::Size(5)]), Status::BAD_STATEID),
        (set_raw(&[100], &[]), Status::ATTRNOTSUPP),
        (set_raw(&[33], &[0, 0]), Status::BADXDR),
        (set_raw(&[33], &[0; 8]), Status::BADXDR),
    ] {
        match kit.at("s/f", [operation]) {
            Outcome::SetAttributes(results) => assert_eq!((results.status, results.set), (Err(status), Bitmap::EMPTY)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(kit.attributes("s/f", &[3, 4, 33, 36]), before);
}

#[test]
fn permissions_decide_about_attributes() {
    let kit = Kit::new();
    kit.file("f", b"x");
    kit.user.set(1000);
    let status = |attribute| kit.status_at("s/f", set(ANONYMOUS, [attribute]));
    assert_eq!(status(Attribute::Mode(0o777)), Err(Status::PERM));
    assert_eq!(status(Attribute::Owner("1000".into())), Err(Status::PERM));
    assert_eq!(status(Attribute::Size(0)), Err(Status::ACCESS));
    assert_eq!(status(Attribute::TimeModifySet(SetTime::ServerTime)), Err(Status::ACCESS));
}

#[test]
fn a_size_belongs_to_regular_files() {
    let kit = Kit::new();
    kit.directory("s", "d");
    assert_eq!(kit.create("s", "p", CreateType::Fifo).status(), Ok(()));
    for path in ["s/d", "s/p"] {
        assert_eq!(kit.status_at(path, set(ANONYMOUS, [Attribute::Size(0)])), Err(Status::WRONG_TYPE), "{path}");
    }
}

#[test]
fn a_file_that_shrinks_and_grows_has_zeros() {
    let kit = Kit::new();
    kit.file("f", &[7; 100]);
    for size in [10, 100] {
        assert_eq!(kit.status_at("s/f", set(ANONYMOUS, [Attribute::Size(size)])), Ok(()));
    }
    let mut expected = vec![7; 10];
    expected.resize(100, 0);
    assert_eq!(kit.read("s/f", 0, 200), (expected, true));
    assert_eq!(kit.status_at("s/f", set(ANONYMOUS, [Attribute::Size(1 << 44)])), Ok(()));
    assert_eq!(kit.read("s/f", (1 << 44) - 1, 10), (vec![0], true));
}

#[test]
fn the_change_attribute_grows_with_each_change_and_not_with_reads() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let change = || match kit.attribute("s/f", 3) {
        Attribute::Change(change) => change,
        other => panic!("{other:?}"),
    };
    let mut last = change();
    for operation in [
        write(0, b"abc"),
        set(ANONYMOUS, [Attribute::Mode(0o600)]),
        set(ANONYMOUS, [Attribute::Size(1)]),
        set(ANONYMOUS, [Attribute::TimeAccessSet(SetTime::ServerTime)]),
    ] {
        assert_eq!(kit.status_at("s/f", operation.clone()), Ok(()));
        assert!(change() > last, "{operation:?}");
        last = change();
    }
    let _ = kit.read("s/f", 0, 1);
    assert_eq!(change(), last);
    assert_eq!(
        kit.attribute("s/f", 79),
        Attribute::ChangeAttributeType(nfs::v4::attributes::ChangeType::MonotonicIncreasing)
    );
}

#[test]
fn verify_and_nverify_compare() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let status = |attributes: &[Attribute]| {
        let fattr = Fattr::new(attributes.to_vec());
        (
            kit.status_at("s/f", Operation::Verify(fattr.clone())),
            kit.status_at("s/f", Operation::VerifyDifferent(fattr)),
        )
    };
    assert_eq!(status(&[Attribute::Size(1), Attribute::Mode(0o644)]), (Ok(()), Err(Status::SAME)));
    assert_eq!(status(&[Attribute::Size(1), Attribute::Mode(0o600)]), (Err(Status::NOT_SAME), Ok(())));
    assert_eq!(status(&[Attribute::AclSupport(0)]), (Err(Status::ATTRNOTSUPP), Err(Status::ATTRNOTSUPP)));
    let write_only = Attribute::TimeAccessSet(SetTime::ServerTime);
    assert_eq!(status(&[write_only]), (Err(Status::INVAL), Err(Status::INVAL)));
    assert_eq!(status(&[Attribute::ReadError(Ok(()))]), (Err(Status::INVAL), Err(Status::INVAL)));
    let cut = Fattr { mask: Bitmap::new([4]), values: vec![0; 4].into() };
    assert_eq!(kit.status_at("s/f", Operation::Verify(cut)), Err(Status::BADXDR));
    // A comparison that fails ends the compound.
    let different = Operation::Verify(Fattr::new([Attribute::Size(2)]));
    assert_eq!(kit.run(super::kit::go("s/f").into_iter().chain([different, get(&[1])])).len(), 4);
}

fn access(kit: &Kit, path: &str, bits: u32) -> Result<AccessOk, Status> {
    match kit.at(path, [Operation::Access(AccessArguments { access: bits })]) {
        Outcome::Access(results) => results,
        other => panic!("{other:?}"),
    }
}

#[test]
fn access_tells_what_makes_sense_and_what_is_permitted() {
    let kit = Kit::new();
    kit.file("f", b"x");
    assert_eq!(access(&kit, "s/f", 0x3f), Ok(AccessOk { supported: 0x2d, access: 0x0d }));
    assert_eq!(access(&kit, "s", 0x3f), Ok(AccessOk { supported: 0x1f, access: 0x1f }));
    assert_eq!(access(&kit, "s/f", 0x1c4), Ok(AccessOk { supported: 0x1c4, access: 0x1c4 }));
    assert_eq!(access(&kit, "", 0x3f), Ok(AccessOk { supported: 0x1f, access: 0x03 }));
    kit.user.set(1000);
    assert_eq!(access(&kit, "s/f", 0x1ff), Ok(AccessOk { supported: 0x1ed, access: 0x141 }));
    assert_eq!(access(&kit, "s/f", 0x200), Err(Status::INVAL));
    kit.minor.set(1);
    assert_eq!(access(&kit, "s/f", 0x40), Err(Status::INVAL));
}

#[test]
fn access_on_a_read_only_export_grants_no_change() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let rule = Rule { read_only: true, squash: vfs::Squash::None, ..Rule::new(Hosts::Any) };
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![rule]));
    assert_eq!(access(&kit, "s/f", 0x3f), Ok(AccessOk { supported: 0x2d, access: 0x01 }));
}

#[test]
fn a_squashed_caller_is_the_anonymous_user() {
    let kit = Kit::new();
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![Rule::new(Hosts::Any)]));
    let open = Attribute::Mode(0o777);
    let root = vfs::Caller::root();
    let mode = vfs::SetAttributes { mode: Some(0o777), ..Default::default() };
    let call = vfs::Call::new(&root, kit.now());
    assert!(super::kit::end(kit.fs.set_attributes(call, kit.fs.root(), &mode, None)).is_ok());
    assert_eq!(kit.attribute("s", 33), open);
    kit.directory("s", "d");
    assert_eq!(kit.attribute("s/d", 36), Attribute::Owner("65534".into()));
    assert_eq!(kit.at("s", [set(ANONYMOUS, [open])]).status(), Err(Status::PERM));
}
