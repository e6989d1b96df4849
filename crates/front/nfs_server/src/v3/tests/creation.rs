//! CREATE, MKDIR, SYMLINK, MKNOD.

use super::{at, changed, content, do_set, unchanged, with_f};
use crate::testing::{Bench, S, UNSET, bad, entry, good, mode};
use nfs::v3::{
    CreateArguments, CreateHow, CreateOk, Device, FileType, Filehandle, MakeDirectoryArguments, MakeNode,
    MakeNodeArguments, NewAttributes, NewDevice, Request, Status, SymbolicLinkArguments,
};

fn create(root: &Filehandle, name: &str, how: CreateHow) -> Request {
    Request::Create(CreateArguments { entry: entry(root, name), how })
}

fn link(root: &Filehandle, name: &str, target: &[u8]) -> Request {
    let arguments = SymbolicLinkArguments { entry: entry(root, name), attributes: mode(0o777), target: target.into() };
    Request::SymbolicLink(arguments)
}

fn directory(root: &Filehandle, name: &str) -> Request {
    Request::MakeDirectory(MakeDirectoryArguments { entry: entry(root, name), attributes: mode(0o755) })
}

fn node(root: &Filehandle, name: &str, what: MakeNode) -> Request {
    Request::MakeNode(MakeNodeArguments { entry: entry(root, name), what })
}

fn made(bench: &Bench, request: &Request) -> CreateOk {
    match bench.v3(request) {
        nfs::v3::Results::Create(Ok(made))
        | nfs::v3::Results::MakeDirectory(Ok(made))
        | nfs::v3::Results::SymbolicLink(Ok(made))
        | nfs::v3::Results::MakeNode(Ok(made)) => made,
        other => panic!("{other:?}"),
    }
}

/// E145
#[test]
fn a_new_file_has_the_mode_that_was_asked() {
    let (bench, root, _) = with_f();
    for (name, attributes, expected) in [("a", mode(0o640), 0o640), ("b", UNSET, 0)] {
        let old = bench.attributes(&root);
        let made = made(&bench, &create(&root, name, CreateHow::Unchecked(attributes)));
        let file = made.file.unwrap_or_else(|| panic!("no handle"));
        let found = bench.attributes(&file);
        assert_eq!((found.mode, found.size_bytes, found.kind), (expected, 0, FileType::Regular));
        assert_eq!(made.attributes, Some(found));
        let new = bench.attributes(&root);
        assert_eq!(made.wcc, changed(&old, &new));
        assert!(at(&new.modified) > at(&old.modified));
        assert_eq!(bench.lookup(&root, name).file, file);
    }
}

/// E146
#[test]
fn an_existing_file_is_truncated_and_nothing_else() {
    let (bench, root, f) = with_f();
    do_set(&bench, &f, NewAttributes { uid: Some(5), ..UNSET });
    let how = |size_bytes| CreateHow::Unchecked(NewAttributes { mode: Some(0o777), size_bytes, ..UNSET });
    let same = made(&bench, &create(&root, "F", how(None)));
    assert_eq!((same.file, bench.read(&f, 0, 10).data[..].to_vec()), (Some(f.clone()), content()[..10].to_vec()));
    made(&bench, &create(&root, "F", how(Some(0))));
    let file = bench.attributes(&f);
    assert_eq!((file.size_bytes, file.mode, file.uid), (0, 0o644, 5));
}

/// E147, E148, E155
#[test]
fn existing_names_are_refused() {
    let (bench, root, _) = with_f();
    bench.make_directory(&root, "D");
    let old = bench.attributes(&root);
    let (status, wcc) = bad!(bench.v3(&create(&root, "F", CreateHow::Guarded(UNSET))), Create);
    assert_eq!((status, wcc), (Status::EXIST, unchanged(&old)));
    for name in ["F", "D", ".", ".."] {
        for request in [directory(&root, name), link(&root, name, b"t"), node(&root, name, MakeNode::Fifo(UNSET))] {
            assert_eq!(bench.status(&request), Some(Status::EXIST), "{request:?}");
        }
    }
    assert_eq!(bench.status(&create(&root, "D", CreateHow::Unchecked(UNSET))), Some(Status::EXIST));
    assert_eq!(bench.attributes(&root).changed, old.changed);
}

/// E149, E152
#[test]
fn an_exclusive_creation_is_repeated_with_its_verifier() {
    let (bench, root, _) = with_f();
    let exclusive = |verifier| create(&root, "X", CreateHow::Exclusive([verifier; 8]));
    let first = made(&bench, &exclusive(1));
    let again = made(&bench, &exclusive(1));
    assert_eq!((first.file.clone(), first.attributes.clone()), (again.file, again.attributes));
    assert_eq!(bench.status(&exclusive(2)), Some(Status::EXIST));
    // Times are ordinary ones.
    let file = first.attributes.unwrap_or_else(|| panic!("no attributes"));
    assert!((2000..3000).contains(&file.accessed.seconds) && (2000..3000).contains(&file.modified.seconds));
}

/// E151
#[test]
fn the_verifier_of_a_creation_outlives_a_crash() {
    let (mut bench, root, _) = with_f();
    bench.engine.expect_crashes();
    let exclusive = |verifier| create(&root, "X", CreateHow::Exclusive([verifier; 8]));
    let first = made(&bench, &exclusive(9)).file;
    bench.restart(true);
    assert_eq!(made(&bench, &exclusive(9)).file, first);
    assert_eq!(bench.status(&exclusive(8)), Some(Status::EXIST));
}

/// E154
#[test]
fn dots_exist() {
    let (bench, root, _) = with_f();
    let old = bench.attributes(&root);
    for name in [".", ".."] {
        for how in [CreateHow::Unchecked(UNSET), CreateHow::Guarded(UNSET), CreateHow::Exclusive([1; 8])] {
            assert_eq!(bench.status(&create(&root, name, how)), Some(Status::EXIST));
        }
    }
    assert_eq!(bench.attributes(&root), old);
}

/// E156
#[test]
fn a_directory_counts_in_its_parent() {
    let (bench, root, _) = with_f();
    let old = bench.attributes(&root);
    let made = made(&bench, &directory(&root, "D"));
    let found = made.attributes.unwrap_or_else(|| panic!("no attributes"));
    assert_eq!((found.kind, found.links, found.mode), (FileType::Directory, 2, 0o755));
    let new = bench.attributes(&root);
    assert_eq!(new.links, old.links + 1);
    assert_eq!(made.wcc, changed(&old, &new));
}

/// E158
#[test]
fn a_target_has_1_to_4095_bytes() {
    let (bench, root, _) = with_f();
    for (name, bytes, status) in
        [("a", 0, Some(Status::INVAL)), ("b", 1025, None), ("c", 4095, None), ("d", 4096, Some(Status::NAMETOOLONG))]
    {
        assert_eq!(bench.status(&link(&root, name, &vec![b't'; bytes])), status, "{bytes}");
    }
    assert_eq!(bench.status(&link(&root, "e", b"a\0b")), Some(Status::INVAL));
    assert_eq!(bench.status(&Request::Lookup(entry(&root, "e"))), Some(Status::NOENT));
}

/// E159
#[test]
fn other_procedures_make_files_directories_and_links() {
    let (bench, root, _) = with_f();
    for what in [MakeNode::Regular, MakeNode::Directory, MakeNode::Link] {
        assert_eq!(bench.status(&node(&root, "n", what)), Some(Status::BADTYPE));
    }
}

/// E161
#[test]
fn special_files() {
    let (bench, root, _) = with_f();
    let new = || NewDevice { attributes: mode(0o600), device: Device { major: 5, minor: 1 } };
    let none = Device { major: 0, minor: 0 };
    for (name, what, kind, device) in [
        ("c", MakeNode::Character(new()), FileType::Character, Device { major: 5, minor: 1 }),
        ("b", MakeNode::Block(new()), FileType::Block, Device { major: 5, minor: 1 }),
        ("s", MakeNode::Socket(mode(0o600)), FileType::Socket, none.clone()),
        ("f", MakeNode::Fifo(mode(0o600)), FileType::Fifo, none),
    ] {
        let found = made(&bench, &node(&root, name, what)).attributes.unwrap_or_else(|| panic!("no attributes"));
        assert_eq!((found.kind, found.device, found.mode), (kind, device, 0o600));
    }
}

/// E119, E120
#[test]
fn names_that_cannot_be_are_refused() {
    let (bench, root, _) = with_f();
    let long = "n".repeat(256);
    for (name, status) in
        [(long.as_str(), Status::NAMETOOLONG), ("", Status::INVAL), ("a/b", Status::INVAL), ("a\0", Status::INVAL)]
    {
        for request in [
            create(&root, name, CreateHow::Unchecked(UNSET)),
            directory(&root, name),
            link(&root, name, b"t"),
            node(&root, name, MakeNode::Fifo(UNSET)),
            Request::Lookup(entry(&root, name)),
            Request::Remove(entry(&root, name)),
            Request::RemoveDirectory(entry(&root, name)),
        ] {
            assert_eq!(bench.status(&request), Some(status), "{request:?}");
        }
    }
    let longest = "n".repeat(255);
    made(&bench, &create(&root, &longest, CreateHow::Unchecked(UNSET)));
    let odd = Request::Lookup(entry(&root, b"\xff"));
    assert_eq!(bench.status(&odd), Some(Status::NOENT));
}

#[test]
fn a_name_of_any_encoding_is_a_name() {
    let (bench, root, _) = with_f();
    let how = CreateHow::Guarded(mode(0o644));
    let request = Request::Create(CreateArguments { entry: entry(&root, b"\xe4\xff"), how });
    let file = made(&bench, &request).file;
    let found = good!(bench.v3(&Request::Lookup(entry(&root, b"\xe4\xff"))), Lookup);
    assert_eq!(Some(found.file), file);
}

/// E113
#[test]
fn a_creation_needs_permission() {
    let bench = Bench::new();
    let root = bench.root(S);
    let old = bench.attributes(&root);
    bench.user(1000);
    let (status, wcc) = bad!(bench.v3(&create(&root, "f", CreateHow::Guarded(UNSET))), Create);
    assert_eq!((status, wcc), (Status::ACCES, unchanged(&old)));
    let given = NewAttributes { uid: Some(2000), ..mode(0o644) };
    bench.user(0);
    do_set(&bench, &root, mode(0o777));
    bench.user(1000);
    assert_eq!(bench.status(&create(&root, "f", CreateHow::Guarded(given))), Some(Status::PERM));
}
