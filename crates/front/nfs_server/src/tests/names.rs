//! LOOKUP, CREATE, REMOVE, RENAME, LINK, READLINK.

use super::kit::{Kit, OBJECT, any, get, lookup};
use nfs::v4::attributes::{Attribute, Fattr};
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::names::{CreateArguments, CreateType, RenameArguments};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, ChangeInfo, Device, FileType, Name, Status};

fn create_with(kit: &Kit, name: &str, kind: CreateType, attributes: Fattr) -> Outcome {
    let arguments = CreateArguments { kind, name: name.into(), attributes };
    kit.at("s", [Operation::Create(Box::new(arguments))])
}

fn rename(kit: &Kit, from: (&str, &str), to: (&str, &str)) -> Result<(), Status> {
    let operation = Operation::Rename(RenameArguments { old: from.1.into(), new: to.1.into() });
    kit.between(from.0, to.0, operation).status()
}

fn link(kit: &Kit, file: &str, to: (&str, &str)) -> Result<(), Status> {
    kit.between(file, to.0, Operation::Link(to.1.into())).status()
}

fn change(path: &str, kit: &Kit) -> u64 {
    match kit.attribute(path, 3) {
        Attribute::Change(change) => change,
        other => panic!("{other:?}"),
    }
}

fn links(path: &str, kit: &Kit) -> u32 {
    match kit.attribute(path, 35) {
        Attribute::Links(links) => links,
        other => panic!("{other:?}"),
    }
}

/// A change that the operation alone has made.
fn check_change(info: &ChangeInfo, before: u64, after: u64) {
    assert_eq!(*info, ChangeInfo { atomic: true, before, after });
    assert!(before < after);
}

#[test]
fn a_lookup_misses_and_refuses_what_is_no_directory() {
    let kit = Kit::new();
    kit.file("f", b"x");
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    assert_eq!(kit.status_at("s", lookup("nothing")), Err(Status::NOENT));
    assert_eq!(kit.status_at("s/f", lookup("x")), Err(Status::NOTDIR));
    assert_eq!(kit.status_at("s/l", lookup("x")), Err(Status::SYMLINK));
    assert_eq!(kit.status_at("", lookup("nothing")), Err(Status::NOENT));
}

#[test]
fn a_lookup_needs_execute_permission() {
    let kit = Kit::new();
    let closed = Fattr::new([Attribute::Mode(0o700)]);
    assert_eq!(create_with(&kit, "d", CreateType::Directory, closed).status(), Ok(()));
    kit.user.set(1000);
    assert_eq!(kit.status_at("s/d", lookup("x")), Err(Status::ACCESS));
}

/// Statuses of names that are none.
const NAMES: [(&[u8], Status); 8] = [
    (b"", Status::INVAL),
    (&[b'n'; 256], Status::NAMETOOLONG),
    (b"a\xff", Status::INVAL),
    (b".", Status::BADNAME),
    (b"..", Status::BADNAME),
    (b"a/b", Status::BADCHAR),
    (b"/", Status::BADCHAR),
    (b"a\0", Status::BADCHAR),
];

#[test]
fn every_operation_checks_names_alike() {
    let kit = Kit::new();
    kit.file("f", b"x");
    for (bytes, status) in NAMES {
        let name = || Name::from(bytes);
        let refused = |outcome: Result<(), Status>| assert_eq!(outcome, Err(status), "{:?}", name());
        for path in ["", "s"] {
            refused(kit.status_at(path, Operation::Lookup(name())));
            refused(kit.status_at(path, Operation::SecurityInformation(name())));
        }
        refused(kit.status_at("s", Operation::Remove(name())));
        let arguments = CreateArguments { kind: CreateType::Fifo, name: name(), attributes: Fattr::none() };
        refused(kit.status_at("s", Operation::Create(Box::new(arguments))));
        let old = RenameArguments { old: name(), new: "n".into() };
        refused(CompoundOutcome::status(&kit.between("s", "s", Operation::Rename(old))));
        let new = RenameArguments { old: "f".into(), new: name() };
        refused(CompoundOutcome::status(&kit.between("s", "s", Operation::Rename(new))));
        refused(CompoundOutcome::status(&kit.between("s/f", "s", Operation::Link(name()))));
    }
    assert_eq!(kit.status_at("s", lookup("f")), Ok(()));
}

#[test]
fn names_are_compared_byte_by_byte() {
    let kit = Kit::new();
    for name in ["a", "A", "\u{e4}", "a\u{308}", &"n".repeat(255)] {
        kit.directory("s", name);
        assert_eq!(kit.status_at("s", lookup(name)), Ok(()));
    }
}

#[test]
fn each_kind_of_file_is_created() {
    let kit = Kit::new();
    let device = Device { major: 5, minor: 1 };
    for (name, kind, file_type) in [
        ("d", CreateType::Directory, FileType::Directory),
        ("l", CreateType::Link("target".into()), FileType::Link),
        ("p", CreateType::Fifo, FileType::Fifo),
        ("k", CreateType::Socket, FileType::Socket),
        ("b", CreateType::Block(device.clone()), FileType::Block),
        ("c", CreateType::Character(device.clone()), FileType::Character),
    ] {
        let before = change("s", &kit);
        let attributes = Fattr::new([Attribute::Mode(0o750)]);
        let arguments = CreateArguments { kind, name: name.into(), attributes };
        let operations = super::kit::go("s").into_iter().chain([Operation::Create(Box::new(arguments)), get(&[1, 33])]);
        let outcomes = kit.run(operations);
        match &outcomes[2..] {
            [Outcome::Create(Ok(created)), Outcome::GetAttributes(Ok(fattr))] => {
                check_change(&created.change, before, change("s", &kit));
                assert_eq!(created.set, Bitmap::new([33]));
                let new = [Attribute::Type(file_type), Attribute::Mode(0o750)];
                assert_eq!(fattr.attributes().as_deref(), Ok(&new[..]), "{name}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(kit.attribute("s/c", 41), Attribute::RawDevice(device));
    assert_eq!((links("s/d", &kit), links("s", &kit)), (2, 3));
}

#[test]
fn a_creation_refuses_kinds_names_and_targets() {
    let kit = Kit::new();
    for kind in [1, 8, 9, 0, 77] {
        assert_eq!(kit.create("s", "x", CreateType::Other(kind)).status(), Err(Status::BADTYPE), "{kind}");
    }
    kit.directory("s", "d");
    assert_eq!(kit.create("s", "d", CreateType::Fifo).status(), Err(Status::EXIST));
    let target = |bytes: Vec<u8>| kit.create("s", "l", CreateType::Link(bytes.into())).status();
    assert_eq!(target(Vec::new()), Err(Status::INVAL));
    assert_eq!(target(vec![b'a'; 4096]), Err(Status::NAMETOOLONG));
    assert_eq!(target(vec![b'a'; 4095]), Ok(()));
    kit.file("f", b"x");
    assert_eq!(kit.create("s/f", "x", CreateType::Fifo).status(), Err(Status::NOTDIR));
    assert_eq!(kit.create("s/l", "x", CreateType::Fifo).status(), Err(Status::NOTDIR));
}

#[test]
fn a_creation_with_attributes_that_cannot_be_set_creates_nothing() {
    let kit = Kit::new();
    let create = |attributes| create_with(&kit, "d", CreateType::Directory, attributes).status();
    assert_eq!(create(Fattr::new([Attribute::Fileid(1)])), Err(Status::INVAL));
    let unknown = Fattr { mask: Bitmap::new([100]), values: Vec::new().into() };
    assert_eq!(create(unknown), Err(Status::ATTRNOTSUPP));
    assert_eq!(create(Fattr::new([Attribute::Owner("a@b".into())])), Err(Status::BADOWNER));
    assert_eq!(create(Fattr::new([Attribute::Size(5)])), Err(Status::INVAL));
    assert_eq!(kit.status_at("s", lookup("d")), Err(Status::NOENT));
}

#[test]
fn a_new_file_belongs_to_the_caller_and_to_a_set_gid_directorys_group() {
    let kit = Kit::new();
    let group = Attribute::OwnerGroup("5".into());
    let open = Fattr::new([Attribute::Mode(0o2777), group.clone()]);
    assert_eq!(create_with(&kit, "d", CreateType::Directory, open).status(), Ok(()));
    kit.user.set(1000);
    kit.directory("s/d", "e");
    let expected = [Attribute::Mode(0o2755), Attribute::Owner("1000".into()), group];
    assert_eq!(kit.attributes("s/d/e", &[33, 36, 37]), expected);
    let root = Fattr::new([Attribute::Owner("0".into())]);
    let arguments = CreateArguments { kind: CreateType::Fifo, name: "x".into(), attributes: root };
    assert_eq!(kit.status_at("s/d", Operation::Create(Box::new(arguments))), Err(Status::PERM));
}

#[test]
fn a_link_is_read_as_it_was_stored() {
    let kit = Kit::new();
    kit.file("f", b"x");
    let target = b"../\xff/x";
    assert_eq!(kit.create("s", "l", CreateType::Link(target[..].into())).status(), Ok(()));
    match kit.at("s/l", [Operation::ReadLink]) {
        Outcome::ReadLink(Ok(text)) => assert_eq!(*text, *target),
        other => panic!("{other:?}"),
    }
    for path in ["s", "s/f"] {
        assert_eq!(kit.status_at(path, Operation::ReadLink), Err(Status::WRONG_TYPE), "{path}");
    }
}

#[test]
fn a_removal_takes_files_and_empty_directories() {
    let kit = Kit::new();
    kit.file("f", b"x");
    kit.directory("s", "d");
    kit.directory("s/d", "e");
    let before = change("s", &kit);
    match kit.at("s", [Operation::Remove("f".into())]) {
        Outcome::Remove(Ok(info)) => check_change(&info, before, change("s", &kit)),
        other => panic!("{other:?}"),
    }
    assert_eq!(kit.status_at("s", Operation::Remove("d".into())), Err(Status::NOTEMPTY));
    assert_eq!(kit.status_at("s/d", Operation::Remove("e".into())), Ok(()));
    assert_eq!(kit.status_at("s", Operation::Remove("d".into())), Ok(()));
    assert_eq!(kit.status_at("s", Operation::Remove("d".into())), Err(Status::NOENT));
}

#[test]
fn in_a_sticky_directory_others_remove_nothing() {
    let kit = Kit::new();
    let sticky = Fattr::new([Attribute::Mode(0o1777)]);
    assert_eq!(create_with(&kit, "d", CreateType::Directory, sticky).status(), Ok(()));
    kit.directory("s/d", "e");
    kit.user.set(1000);
    assert_eq!(kit.status_at("s/d", Operation::Remove("e".into())), Err(Status::ACCESS));
}

#[test]
fn a_rename_moves_a_name_and_reports_both_directories() {
    let kit = Kit::new();
    kit.directory("s", "a");
    kit.directory("s", "b");
    kit.directory("s/a", "d");
    let handle = kit.handle("s/a/d");
    let before = (change("s/a", &kit), change("s/b", &kit));
    let operation = Operation::Rename(RenameArguments { old: "d".into(), new: "e".into() });
    match kit.between("s/a", "s/b", operation) {
        Outcome::Rename(Ok(ok)) => {
            check_change(&ok.source, before.0, change("s/a", &kit));
            check_change(&ok.target, before.1, change("s/b", &kit));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(kit.handle("s/b/e"), handle);
    assert_eq!((links("s/a", &kit), links("s/b", &kit)), (2, 3));
    assert_eq!(kit.at("s/b/e", [Operation::LookupParent, Operation::GetFilehandle]), {
        Outcome::GetFilehandle(Ok(kit.handle("s/b")))
    });
}

#[test]
fn a_rename_replaces_like_with_like() {
    let kit = Kit::new();
    kit.file("f", b"x");
    kit.file("g", b"y");
    for name in ["empty", "full", "d"] {
        kit.directory("s", name);
    }
    kit.directory("s/full", "x");
    assert_eq!(rename(&kit, ("s", "f"), ("s", "d")), Err(Status::EXIST));
    assert_eq!(rename(&kit, ("s", "d"), ("s", "f")), Err(Status::EXIST));
    assert_eq!(rename(&kit, ("s", "d"), ("s", "full")), Err(Status::EXIST));
    assert_eq!(rename(&kit, ("s", "d"), ("s", "empty")), Ok(()));
    assert_eq!(rename(&kit, ("s", "f"), ("s", "g")), Ok(()));
    assert_eq!(kit.read("s/g", 0, 9).0, b"x");
    assert_eq!(kit.status_at("s", lookup("f")), Err(Status::NOENT));
}

#[test]
fn a_rename_refuses_what_is_missing_no_directory_or_below_itself() {
    let kit = Kit::new();
    kit.file("f", b"x");
    assert_eq!(kit.create("s", "l", CreateType::Link("f".into())).status(), Ok(()));
    kit.directory("s", "d");
    kit.directory("s/d", "e");
    assert_eq!(rename(&kit, ("s", "nothing"), ("s", "x")), Err(Status::NOENT));
    assert_eq!(rename(&kit, ("s/f", "x"), ("s", "x")), Err(Status::NOTDIR));
    assert_eq!(rename(&kit, ("s", "f"), ("s/l", "x")), Err(Status::NOTDIR));
    assert_eq!(rename(&kit, ("s", "d"), ("s/d/e", "x")), Err(Status::INVAL));
    assert_eq!(rename(&kit, ("s", "f"), ("s", "f")), Ok(()));
    assert_eq!(link(&kit, "s/f", ("s", "g")), Ok(()));
    assert_eq!(rename(&kit, ("s", "f"), ("s", "g")), Ok(()));
    assert_eq!((kit.status_at("s", lookup("f")), kit.status_at("s", lookup("g"))), (Ok(()), Ok(())));
}

#[test]
fn a_link_is_one_more_name() {
    let kit = Kit::new();
    kit.file("f", b"x");
    kit.directory("s", "d");
    let before = change("s/d", &kit);
    match kit.between("s/f", "s/d", Operation::Link("g".into())) {
        Outcome::Link(Ok(info)) => check_change(&info, before, change("s/d", &kit)),
        other => panic!("{other:?}"),
    }
    assert_eq!((links("s/f", &kit), kit.handle("s/d/g")), (2, kit.handle("s/f")));
    assert_eq!(link(&kit, "s/f", ("s/d", "g")), Err(Status::EXIST));
    assert_eq!(link(&kit, "s/d", ("s", "e")), Err(Status::ISDIR));
    assert_eq!(link(&kit, "s/f", ("s/f", "e")), Err(Status::NOTDIR));
}

#[test]
fn names_do_not_cross_shares() {
    let kit = Kit::new();
    let other = kit.engine.create(kit.now());
    kit.publish("t", OBJECT + 1, &other, any());
    kit.file("f", b"x");
    assert_eq!(rename(&kit, ("s", "f"), ("t", "f")), Err(Status::XDEV));
    assert_eq!(link(&kit, "s/f", ("t", "f")), Err(Status::XDEV));
}

#[test]
fn a_full_pool_creates_nothing() {
    let kit = Kit::new();
    kit.fs.set_most_files(1);
    assert_eq!(kit.create("s", "d", CreateType::Directory).status(), Err(Status::NOSPC));
    assert_eq!(kit.status_at("s", lookup("d")), Err(Status::NOENT));
}
