//! READDIR.

use super::kit::{Kit, OBJECT, any, vfs_name};
use crate::access::{Hosts, Rule, Rules};
use bytes::Bytes;
use nfs::v4::attributes::Attribute;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::names::{Entry, ReadDirectoryArguments, ReadDirectoryOk};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Bitmap, Status};
use std::collections::BTreeSet;
use vfs::{Encoding, FileSystem, Name, New, NewKind, SetAttributes};
use xdr::{Writer, Xdr};

fn arguments(cookie: u64, max_count_bytes: u32, wanted: &[u32]) -> ReadDirectoryArguments {
    let wanted = Bitmap::new(wanted.iter().copied());
    ReadDirectoryArguments { cookie, verifier: [0; 8], directory_count_bytes: 0, max_count_bytes, wanted }
}

fn list(kit: &Kit, path: &str, arguments: ReadDirectoryArguments) -> Result<ReadDirectoryOk, Status> {
    match kit.at(path, [Operation::ReadDirectory(arguments)]) {
        Outcome::ReadDirectory(results) => results,
        other => panic!("{other:?}"),
    }
}

/// All entries, in replies of at most that many bytes.
fn list_all(kit: &Kit, path: &str, max_count_bytes: u32, wanted: &[u32]) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    let mut next = arguments(0, max_count_bytes, wanted);
    loop {
        let page = list(kit, path, next.clone()).unwrap_or_else(|status| panic!("{status}"));
        let mut writer = Writer::default();
        page.encode(&mut writer);
        assert!(writer.length_bytes() <= max_count_bytes as usize);
        next.verifier = page.verifier;
        assert_ne!(page.verifier, [0; 8]);
        next.cookie = page.entries.last().map_or(0, |last| last.cookie);
        all.extend(page.entries.0);
        if page.eof {
            return all;
        }
    }
}

fn names(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect()
}

#[test]
fn a_listing_in_pieces_has_each_entry_once() {
    let kit = Kit::new();
    let expected: BTreeSet<_> = (0..300).map(|number| format!("file-{number}")).collect();
    expected.iter().for_each(|name| {
        kit.file(name, b"");
    });
    for bytes in [90, 512, 4096, 1 << 20] {
        let found = names(&list_all(&kit, "s", bytes, &[1, 20]));
        assert_eq!(found.len(), 300, "{bytes}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    }
    assert!(list_all(&kit, "s", 4096, &[]).iter().all(|entry| entry.cookie > 2 && entry.attributes.mask.is_empty()));
}

#[test]
fn an_empty_directory_ends_at_once() {
    let kit = Kit::new();
    let page = list(&kit, "s", arguments(0, 16, &[1]));
    assert_eq!(page.map(|page| (page.entries.len(), page.eof)), Ok((0, true)));
    assert_eq!(list(&kit, "s", arguments(0, 15, &[1])), Err(Status::TOOSMALL));
}

#[test]
fn entries_have_the_attributes_of_their_files() {
    let kit = Kit::new();
    kit.file("f", &[1; 5000]);
    kit.directory("s", "d");
    let wanted = [1, 4, 8, 19, 20, 36, 42, 55, 78];
    for entry in list_all(&kit, "s", 4096, &wanted) {
        let path = format!("s/{}", String::from_utf8_lossy(&entry.name));
        assert_eq!(entry.attributes.attributes(), Ok(kit.attributes(&path, &wanted)));
    }
}

#[test]
fn no_room_for_an_entry_is_too_small() {
    let kit = Kit::new();
    kit.file("name-of-twenty-bytes", b"");
    // 16 bytes of the frame, 24 of the entry, 20 of the name.
    assert_eq!(list(&kit, "s", arguments(0, 59, &[])), Err(Status::TOOSMALL));
    assert_eq!(list(&kit, "s", arguments(0, 60, &[])).map(|page| page.entries.len()), Ok(1));
}

#[test]
fn a_listing_is_cut_to_the_room_of_the_reply() {
    let kit = Kit::new();
    for number in 0..100 {
        kit.file(&format!("file-{number:03}"), b"");
    }
    kit.sessions.response_bytes.set(1024);
    let page = list(&kit, "s", arguments(0, 1 << 20, &[1]));
    assert!(page.is_ok_and(|page| !page.eof && (5..100).contains(&page.entries.len())));
}

#[test]
fn cookies_and_verifiers_are_checked() {
    let kit = Kit::new();
    kit.file("f", b"");
    for cookie in [1, 2, 255] {
        assert_eq!(list(&kit, "s", arguments(cookie, 4096, &[])), Err(Status::BAD_COOKIE), "{cookie}");
    }
    assert_eq!(list(&kit, "s", arguments(256, 4096, &[])), Err(Status::NOT_SAME));
    kit.directory("s", "d");
    let page = list(&kit, "s", arguments(0, 4096, &[])).unwrap_or_else(|status| panic!("{status}"));
    for cookie in [256, 1 << 62, u64::MAX] {
        let after = ReadDirectoryArguments { verifier: page.verifier, ..arguments(cookie, 4096, &[]) };
        assert!(list(&kit, "s", after).is_ok_and(|page| page.eof), "{cookie}");
    }
}

#[test]
fn a_listing_goes_on_behind_an_entry_that_was_removed() {
    let kit = Kit::new();
    for name in ["a", "b", "c", "d", "e"] {
        kit.file(name, b"");
    }
    let all = list_all(&kit, "s", 4096, &[]);
    let first = list(&kit, "s", arguments(0, 80, &[])).unwrap_or_else(|status| panic!("{status}"));
    let seen = first.entries.len();
    assert!((1..4).contains(&seen));
    for entry in first.entries.iter() {
        assert_eq!(kit.status_at("s", Operation::Remove(entry.name.clone())), Ok(()));
    }
    let cookie = first.entries.last().map_or(0, |last| last.cookie);
    let rest = ReadDirectoryArguments { verifier: first.verifier, ..arguments(cookie, 4096, &[]) };
    let rest = list(&kit, "s", rest).unwrap_or_else(|status| panic!("{status}"));
    assert_eq!(names(&rest.entries), names(&all[seen..]));
}

#[test]
fn only_directories_are_listed_and_with_permission() {
    let kit = Kit::new();
    kit.file("f", b"");
    assert_eq!(kit.create("s", "l", nfs::v4::names::CreateType::Link("f".into())).status(), Ok(()));
    for path in ["s/f", "s/l"] {
        assert_eq!(list(&kit, path, arguments(0, 4096, &[])), Err(Status::NOTDIR), "{path}");
    }
    assert_eq!(list(&kit, "s", arguments(0, 4096, &[48])), Err(Status::INVAL));
}

#[test]
fn names_that_are_not_text_are_left_out() {
    let kit = Kit::new();
    kit.file("text", b"");
    let root = vfs::Caller::root();
    let call = vfs::Call::new(&root, kit.now());
    let name = Name::new(Bytes::from_static(b"\xff"), Encoding::Any).unwrap_or_else(|error| panic!("{error}"));
    let new = New { what: NewKind::Fifo, attributes: SetAttributes::default() };
    assert!(super::kit::end(kit.fs.create(call, kit.fs.root(), &name, &new)).is_ok());
    assert_eq!(names(&list_all(&kit, "s", 4096, &[])), ["text"]);
}

/// Names that NFSv4 cannot say may be many: other calls go on between them.
#[test]
fn a_listing_pauses_between_names_that_are_left_out() {
    let kit = Kit::new();
    let root = vfs::Caller::root();
    let most = kit.fs.limits().listed_entries;
    let mut expected = BTreeSet::new();
    for number in 0..10 * most {
        let text = number % 97 == 5;
        let name = format!("file-{number:05}").into_bytes();
        let name = if text { name } else { [&name[..], b"\xff"].concat() };
        expected.extend(text.then(|| String::from_utf8_lossy(&name).into_owned()));
        let name = Name::new(name.into(), Encoding::Any).unwrap_or_else(|error| panic!("{error}"));
        let new = New { what: NewKind::Fifo, attributes: SetAttributes::default() };
        let call = vfs::Call::new(&root, kit.now());
        assert!(super::kit::end(kit.fs.create(call, kit.fs.root(), &name, &new)).is_ok());
    }
    for wanted in [&[][..], &[1, 4, 20]] {
        let all = list_all(&kit, "s", 1 << 20, wanted);
        assert!(kit.polls.get() >= 10, "{}", kit.polls.get());
        for entries in [all, list_all(&kit, "s", 200, wanted)] {
            assert_eq!(entries.len(), expected.len());
            assert_eq!(names(&entries).into_iter().collect::<BTreeSet<_>>(), expected);
            assert!(entries.iter().all(|entry| entry.attributes.mask == Bitmap::new(wanted.iter().copied())));
        }
    }
}

/// The space of a file may need a walk of everything that is mapped.
#[test]
fn a_listing_pauses_before_the_space_of_each_file() {
    let kit = Kit::new();
    for number in 0..20 {
        kit.file(&format!("file-{number}"), b"content");
    }
    assert_eq!((list_all(&kit, "s", 1 << 20, &[1]).len(), kit.polls.get()), (20, 1));
    assert_eq!((list_all(&kit, "s", 1 << 20, &[78]).len(), kit.polls.get()), (20, 21));
}

#[test]
fn the_pseudo_root_lists_the_shares_of_the_caller() {
    let kit = Kit::new();
    let others = Rules(vec![Rule::new(Hosts::Host([[10, 0, 0, 2].into()].into()))]);
    let fs = kit.engine.create(kit.now());
    kit.publish("hidden", OBJECT + 1, &fs, others);
    for number in 0..20 {
        kit.publish(&format!("share-{number}"), 100 + number, &kit.engine.create(kit.now()), any());
    }
    for bytes in [200, 4096] {
        let entries = list_all(&kit, "", bytes, &[1, 8, 20, 55]);
        let found: BTreeSet<_> = names(&entries).into_iter().collect();
        assert_eq!((entries.len(), found.len()), (21, 21));
        assert!(found.contains("s") && !found.contains("hidden"));
        for entry in entries {
            let path = String::from_utf8_lossy(&entry.name).into_owned();
            assert_eq!(entry.attributes.attributes(), Ok(kit.attributes(&path, &[1, 8, 20, 55])));
        }
    }
    assert!(kit.server.shares().borrow().by_name(&vfs_name("hidden")).is_some());
}

#[test]
fn an_entry_that_the_caller_may_not_read_has_the_error_if_it_asks() {
    let kit = Kit::new();
    kit.publish("s", OBJECT, &kit.fs, Rules(vec![Rule { privileged_port: true, ..Rule::new(Hosts::Any) }]));
    kit.port.set(2000);
    let entries = list_all(&kit, "", 4096, &[1, 11, 20]);
    let error = vec![Attribute::ReadError(Err(Status::ACCESS))];
    assert_eq!(entries.iter().map(|entry| entry.attributes.attributes()).collect::<Vec<_>>(), [Ok(error)]);
    assert_eq!(list(&kit, "", arguments(0, 4096, &[1, 20])), Err(Status::ACCESS));
    assert_eq!(names(&list_all(&kit, "", 4096, &[])), ["s"]);
}
