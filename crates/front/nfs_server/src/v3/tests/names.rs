//! LOOKUP, REMOVE, RMDIR, RENAME, LINK.

use super::{at, changed, content, do_set, unchanged, with_f};
use crate::reservations::Access;
use crate::testing::{Bench, S, T, bad, entry, good, mode};
use nfs::v3::{Filehandle, LinkArguments, RenameArguments, RenameWcc, Request, Status};
use vfs::FileId;

fn rename(from: (&Filehandle, &str), to: (&Filehandle, &str)) -> Request {
    Request::Rename(RenameArguments { from: entry(from.0, from.1), to: entry(to.0, to.1) })
}

fn link(file: &Filehandle, to: (&Filehandle, &str)) -> Request {
    Request::Link(LinkArguments { file: file.clone(), entry: entry(to.0, to.1) })
}

fn exists(bench: &Bench, directory: &Filehandle, name: &str) -> bool {
    bench.status(&Request::Lookup(entry(directory, name))).is_none()
}

/// E115, E116
#[test]
fn a_name_is_looked_up() {
    let (bench, root, f) = with_f();
    let found = bench.lookup(&root, "F");
    assert_eq!((&found.file, &found.attributes), (&f, &Some(bench.attributes(&f))));
    assert_eq!(found.directory, Some(bench.attributes(&root)));
    let (status, directory) = bad!(bench.v3(&Request::Lookup(entry(&root, "nothing"))), Lookup);
    assert_eq!((status, directory), (Status::NOENT, Some(bench.attributes(&root))));
}

/// E117
#[test]
fn dots_are_the_directory_and_its_parent() {
    let (bench, root, f) = with_f();
    let d = bench.make_directory(&root, "D");
    for (directory, name, found) in [(&d, ".", &d), (&d, "..", &root), (&root, ".", &root), (&root, "..", &root)] {
        let ok = bench.lookup(directory, name);
        assert_eq!((&ok.file, ok.attributes), (found, Some(bench.attributes(found))), "{name}");
        assert_eq!(ok.directory, Some(bench.attributes(directory)));
    }
    for name in [".", "..", "x"] {
        let (status, attributes) = bad!(bench.v3(&Request::Lookup(entry(&f, name))), Lookup);
        assert_eq!((status, attributes), (Status::NOTDIR, Some(bench.attributes(&f))), "{name}");
    }
    do_set(&bench, &d, mode(0o744));
    bench.user(1000);
    for name in [".", "..", "x"] {
        assert_eq!(bench.status(&Request::Lookup(entry(&d, name))), Some(Status::ACCES), "{name}");
    }
}

/// E154
#[test]
fn dots_are_not_removed_or_renamed() {
    let (bench, root, _) = with_f();
    let d = bench.make_directory(&root, "D");
    let old = (bench.attributes(&root), bench.attributes(&d));
    for name in [".", ".."] {
        assert_eq!(bench.status(&Request::Remove(entry(&d, name))), Some(Status::ACCES));
        assert_eq!(bench.status(&Request::RemoveDirectory(entry(&d, name))), Some(Status::ACCES));
        assert_eq!(bench.status(&rename((&d, name), (&root, "new"))), Some(Status::INVAL));
        assert_eq!(bench.status(&rename((&root, "F"), (&d, name))), Some(Status::INVAL));
        assert_eq!(bench.status(&link(&bench.lookup(&root, "F").file, (&d, name))), Some(Status::EXIST));
    }
    assert_eq!((bench.attributes(&root), bench.attributes(&d)), old);
}

/// E163, E166
#[test]
fn removals_are_for_their_kinds() {
    let (bench, root, _) = with_f();
    let d = bench.make_directory(&root, "D");
    bench.create(&d, "child");
    let old = bench.attributes(&root);
    let (status, wcc) = bad!(bench.v3(&Request::Remove(entry(&root, "D"))), Remove);
    assert_eq!((status, wcc), (Status::ISDIR, unchanged(&old)));
    let (status, wcc) = bad!(bench.v3(&Request::RemoveDirectory(entry(&root, "F"))), RemoveDirectory);
    assert_eq!((status, wcc), (Status::NOTDIR, unchanged(&old)));
    assert_eq!(bench.status(&Request::RemoveDirectory(entry(&root, "D"))), Some(Status::NOTEMPTY));
    assert_eq!(bench.status(&Request::Remove(entry(&root, "nothing"))), Some(Status::NOENT));
    assert_eq!(bench.status(&Request::Remove(entry(&d, "child"))), None);
    let wcc = good!(bench.v3(&Request::RemoveDirectory(entry(&root, "D"))), RemoveDirectory);
    assert_eq!(wcc, changed(&old, &bench.attributes(&root)));
    assert_eq!(bench.status(&Request::GetAttributes(d)), Some(Status::STALE));
}

/// E165
#[test]
fn a_file_ends_with_its_last_name() {
    let (bench, root, f) = with_f();
    assert_eq!(bench.status(&link(&f, (&root, "again"))), None);
    assert_eq!(bench.status(&Request::Remove(entry(&root, "F"))), None);
    assert_eq!(bench.read(&f, 0, 9).data[..], content()[..9]);
    assert_eq!(bench.status(&Request::Remove(entry(&root, "again"))), None);
    let read = Request::Read(nfs::v3::ReadArguments { file: f, offset_bytes: 0, count_bytes: 1 });
    let (status, attributes) = bad!(bench.v3(&read), Read);
    assert_eq!((status, attributes), (Status::STALE, None));
}

/// E167
#[test]
fn a_rename_replaces_a_file() {
    let (bench, root, f) = with_f();
    let d = bench.make_directory(&root, "D");
    let old = bench.create(&d, "old");
    let (from, to) = (bench.attributes(&root), bench.attributes(&d));
    let wcc = good!(bench.v3(&rename((&root, "F"), (&d, "old"))), Rename);
    let expected =
        RenameWcc { from: changed(&from, &bench.attributes(&root)), to: changed(&to, &bench.attributes(&d)) };
    assert_eq!(wcc, expected);
    assert_eq!(bench.lookup(&d, "old").file, f);
    assert!(!exists(&bench, &root, "F"));
    assert_eq!(bench.status(&Request::GetAttributes(old)), Some(Status::STALE));
}

/// E168, E170
#[test]
fn what_a_rename_does_not_replace() {
    let (bench, root, _) = with_f();
    let d = bench.make_directory(&root, "D");
    let full = bench.make_directory(&root, "full");
    let below = bench.make_directory(&full, "below");
    let (from, to) = (bench.attributes(&root), bench.attributes(&below));
    let (status, wcc) = bad!(bench.v3(&rename((&root, "F"), (&root, "D"))), Rename);
    assert_eq!((status, &wcc.from, &wcc.to), (Status::ISDIR, &unchanged(&from), &unchanged(&from)));
    for (source, target, status) in [
        ((&root, "D"), (&root, "F"), Status::NOTDIR),
        ((&root, "D"), (&root, "full"), Status::NOTEMPTY),
        ((&root, "nothing"), (&root, "x"), Status::NOENT),
    ] {
        assert_eq!(bench.status(&rename(source, target)), Some(status));
    }
    let (status, wcc) = bad!(bench.v3(&rename((&root, "full"), (&below, "x"))), Rename);
    assert_eq!((status, wcc), (Status::INVAL, RenameWcc { from: unchanged(&from), to: unchanged(&to) }));
    assert_eq!(bench.attributes(&root), from);
    assert_eq!(bench.status(&rename((&root, "full"), (&root, "D"))), None);
    assert_eq!(bench.lookup(&root, "D").file, full);
    assert_eq!(bench.status(&Request::GetAttributes(d)), Some(Status::STALE));
}

/// E171, E174
#[test]
fn links_are_names_of_one_file() {
    let (bench, root, f) = with_f();
    let (old_f, old_root) = (bench.attributes(&f), bench.attributes(&root));
    let linked = good!(bench.v3(&link(&f, (&root, "again"))), Link);
    let (new_f, new_root) = (bench.attributes(&f), bench.attributes(&root));
    assert_eq!((linked.attributes, linked.wcc), (Some(new_f.clone()), changed(&old_root, &new_root)));
    assert_eq!(new_f.links, 2);
    assert!(at(&new_f.changed) > at(&old_f.changed) && at(&new_root.modified) > at(&old_root.modified));
    assert_eq!(bench.status(&rename((&root, "F"), (&root, "again"))), None);
    assert!(exists(&bench, &root, "F") && exists(&bench, &root, "again"));
}

/// E173
#[test]
fn names_of_other_shares_are_out_of_reach() {
    let (bench, root, f) = with_f();
    let other = bench.root(T);
    let (from, to) = (bench.attributes(&root), bench.attributes(&other));
    let (status, wcc) = bad!(bench.v3(&rename((&root, "F"), (&other, "F"))), Rename);
    assert_eq!((status, wcc), (Status::XDEV, RenameWcc { from: unchanged(&from), to: unchanged(&to) }));
    let (status, details) = bad!(bench.v3(&link(&f, (&other, "F"))), Link);
    assert_eq!((status, details.attributes, details.wcc), (Status::XDEV, Some(bench.attributes(&f)), unchanged(&to)));
}

/// E175
#[test]
fn directories_and_existing_names_are_not_linked() {
    let (bench, root, f) = with_f();
    let d = bench.make_directory(&root, "D");
    let old = bench.attributes(&root);
    for (file, name, status) in [(&d, "new", Status::ISDIR), (&f, "D", Status::EXIST), (&f, "F", Status::EXIST)] {
        let (found, details) = bad!(bench.v3(&link(file, (&root, name))), Link);
        assert_eq!((found, details.wcc), (status, unchanged(&old)), "{name}");
        assert_eq!(details.attributes, Some(bench.attributes(file)));
    }
}

#[test]
fn a_sticky_directory_keeps_files_of_others() {
    let bench = Bench::new();
    let root = bench.root(S);
    do_set(&bench, &root, mode(0o1777));
    bench.user(1000);
    bench.create(&root, "mine");
    bench.user(2000);
    assert_eq!(bench.status(&Request::Remove(entry(&root, "mine"))), Some(Status::PERM));
}

/// A file that an open of NFSv4 needs, or will need when it is reclaimed, keeps its names: without a hold, the file
/// would be deleted with the last one.
#[test]
fn names_of_open_files_stay() {
    let (bench, root, f) = with_f();
    let other = bench.create(&root, "other");
    bench.make_directory(&root, "D");
    assert_eq!(bench.status(&link(&f, (&root, "again"))), None);
    let id = FileId(bench.attributes(&f).fileid);
    bench.v4.0.borrow_mut().push((S, id, Access::Write));
    let old = bench.attributes(&root);
    let (status, wcc) = bad!(bench.v3(&Request::Remove(entry(&root, "F"))), Remove);
    assert_eq!((status, wcc), (Status::JUKEBOX, unchanged(&old)));
    let (status, wcc) = bad!(bench.v3(&rename((&root, "other"), (&root, "F"))), Rename);
    let both = RenameWcc { from: unchanged(&old), to: unchanged(&old) };
    assert_eq!((status, wcc), (Status::JUKEBOX, both));
    assert_eq!(bench.status(&Request::RemoveDirectory(entry(&root, "F"))), Some(Status::NOTDIR));
    assert_eq!(bench.attributes(&root), old);
    // Between its own names, under a new one, and beside it, all is as ever.
    assert_eq!(bench.status(&rename((&root, "F"), (&root, "again"))), None);
    assert_eq!(bench.status(&rename((&root, "F"), (&root, "new"))), None);
    assert_eq!(bench.status(&rename((&root, "other"), (&root, "renamed"))), None);
    assert_eq!(bench.status(&Request::Remove(entry(&root, "renamed"))), None);
    assert_eq!(bench.status(&Request::RemoveDirectory(entry(&root, "D"))), None);
    assert_eq!(bench.status(&Request::GetAttributes(other)), Some(Status::STALE));
    // The client repeats what was refused for now, and the repetition is executed.
    bench.v4.0.borrow_mut().clear();
    assert_eq!(bench.status(&Request::Remove(entry(&root, "new"))), None);
    assert_eq!(bench.status(&Request::Remove(entry(&root, "again"))), None);
    assert_eq!(bench.status(&Request::GetAttributes(f)), Some(Status::STALE));
}
