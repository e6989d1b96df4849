//! READDIR and READDIRPLUS.

use super::with_f;
use crate::testing::{Bench, S, bad, do_names, encoded, entry, good};
use nfs::v3::{
    Filehandle, ReadDirectoryArguments, ReadDirectoryOk, ReadDirectoryPlusArguments, ReadDirectoryPlusOk, Request,
    Results, Status, Verifier,
};
use std::collections::BTreeSet;

fn list(directory: &Filehandle, cookie: u64, verifier: Verifier, count_bytes: u32) -> Request {
    let directory = directory.clone();
    Request::ReadDirectory(ReadDirectoryArguments { directory, cookie, verifier, count_bytes })
}

fn plus(directory: &Filehandle, cookie: u64, verifier: Verifier, max_count_bytes: u32) -> Request {
    Request::ReadDirectoryPlus(ReadDirectoryPlusArguments {
        directory: directory.clone(),
        cookie,
        verifier,
        directory_count_bytes: 512,
        max_count_bytes,
    })
}

fn length(results: &Results) -> usize {
    encoded(|writer| results.encode(writer)).len()
}

fn page(bench: &Bench, directory: &Filehandle, cookie: u64, verifier: Verifier, count: u32) -> ReadDirectoryOk {
    let results = bench.v3(&list(directory, cookie, verifier, count));
    assert!(length(&results) <= count as usize, "{} of {count}", length(&results));
    good!(results, ReadDirectory)
}

fn page_plus(bench: &Bench, directory: &Filehandle, cookie: u64, count: u32) -> ReadDirectoryPlusOk {
    let results = bench.v3(&plus(directory, cookie, [0; 8], count));
    assert!(length(&results) <= count as usize, "{} of {count}", length(&results));
    good!(results, ReadDirectoryPlus)
}

/// All names from a cookie on, and the number of pages.
fn names(bench: &Bench, directory: &Filehandle, count: u32, mut cookie: u64) -> (Vec<String>, usize) {
    let (mut names, mut verifier, mut pages) = (Vec::new(), [0; 8], 0);
    loop {
        let page = page(bench, directory, cookie, verifier, count);
        pages += 1;
        names.extend(page.entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()));
        match page.entries.last() {
            Some(last) => (cookie, verifier) = (last.cookie, page.verifier),
            None => assert!(page.eof),
        }
        if page.eof {
            return (names, pages);
        }
    }
}

/// E177
#[test]
fn every_name_is_listed_once_and_dots_first() {
    let bench = Bench::new();
    let root = bench.root(S);
    let d = bench.make_directory(&root, "D");
    do_names(&bench, &d, 10_000);
    let (all, pages) = names(&bench, &d, 8192, 0);
    assert_eq!(all[..2], [".", ".."]);
    let set: BTreeSet<_> = all[2..].iter().cloned().collect();
    assert_eq!((all.len(), set.len()), (10_002, 10_000));
    assert!(pages > 30, "{pages}");
    // Longer ones have more, up to the preferred length.
    let (again, pages) = names(&bench, &d, u32::MAX, 0);
    assert_eq!(again, all);
    assert!((2..10).contains(&pages), "{pages}");
}

/// E177
#[test]
fn dots_have_the_numbers_of_the_directory_and_its_parent() {
    let (bench, root, f) = with_f();
    let d = bench.make_directory(&root, "D");
    let of = |file: &Filehandle| bench.attributes(file).fileid;
    for (directory, parent) in [(&d, &root), (&root, &root)] {
        let page = page(&bench, directory, 0, [0; 8], 8192);
        let dots: Vec<_> = page.entries[..2].iter().map(|entry| (entry.fileid, entry.cookie)).collect();
        assert_eq!(dots, [(of(directory), 1), (of(parent), 2)]);
    }
    // Each cookie continues behind its entry.
    for (cookie, expected) in
        [(1, vec!["..", "D", "F"]), (2, vec!["D", "F"]), (200, vec!["D", "F"]), (u64::MAX, vec![])]
    {
        let (mut found, _) = names(&bench, &root, 8192, cookie);
        found.sort();
        assert_eq!(found, expected, "{cookie}");
    }
    assert_eq!(page(&bench, &root, 0, [0; 8], 8192).attributes, Some(bench.attributes(&root)));
    let files = page(&bench, &root, 2, [0; 8], 8192);
    assert!(files.entries.iter().any(|entry| entry.fileid == of(&f) && *entry.name == *b"F"));
}

/// E178
#[test]
fn a_listing_goes_on_after_removals_and_a_restart() {
    let mut bench = Bench::new();
    let root = bench.root(S);
    do_names(&bench, &root, 500);
    let first = page(&bench, &root, 0, [0; 8], 4096);
    let last = first.entries.last().map_or(0, |entry| entry.cookie);
    let read: Vec<String> =
        first.entries[2..].iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
    for name in &read {
        assert_eq!(bench.status(&Request::Remove(entry(&root, name))), None);
    }
    bench.restart(true);
    let rest = page(&bench, &root, last, first.verifier, 4096);
    assert_eq!(rest.verifier, first.verifier);
    let (rest, _) = names(&bench, &root, 4096, last);
    let all: BTreeSet<_> = rest.iter().chain(&read).collect();
    assert_eq!((all.len(), rest.len()), (500, 500 - read.len()));
}

/// E180
#[test]
fn a_reply_has_one_entry_at_least() {
    let (bench, root, _) = with_f();
    let whole = length(&bench.v3(&list(&root, 2, [0; 8], 8192))) as u32;
    assert_eq!(page(&bench, &root, 2, [0; 8], whole).entries.len(), 1);
    let (status, directory) = bad!(bench.v3(&list(&root, 2, [0; 8], whole - 1)), ReadDirectory);
    assert_eq!((status, directory), (Status::TOOSMALL, Some(bench.attributes(&root))));
    for count in [0, 1, 100] {
        assert_eq!(bench.status(&list(&root, 0, [0; 8], count)), Some(Status::TOOSMALL));
    }
    let whole = length(&bench.v3(&plus(&root, 2, [0; 8], 8192))) as u32;
    assert_eq!(page_plus(&bench, &root, 2, whole).entries.len(), 1);
    assert_eq!(bench.status(&plus(&root, 2, [0; 8], whole - 1)), Some(Status::TOOSMALL));
}

#[test]
fn the_end_needs_no_room_for_an_entry() {
    let bench = Bench::new();
    let root = bench.root(S);
    let end = length(&bench.v3(&list(&root, 2, [0; 8], 8192))) as u32;
    let page = page(&bench, &root, 2, [0; 8], end);
    assert!(page.eof && page.entries.is_empty());
}

/// E182
#[test]
fn cookies_have_one_verifier() {
    let (bench, root, _) = with_f();
    let verifier = page(&bench, &root, 0, [9; 8], 8192).verifier;
    assert_ne!(verifier, [0; 8]);
    page(&bench, &root, 2, verifier, 8192);
    page(&bench, &root, 2, [0; 8], 8192);
    let (status, _) = bad!(bench.v3(&list(&root, 2, [9; 8], 8192)), ReadDirectory);
    assert_eq!(status, Status::BAD_COOKIE);
    assert_eq!(bench.status(&plus(&root, 2, [9; 8], 8192)), Some(Status::BAD_COOKIE));
}

/// E183
#[test]
fn entries_have_attributes_and_handles() {
    let (bench, root, _) = with_f();
    do_names(&bench, &root, 1000);
    let (mut cookie, mut seen) = (0, 0);
    loop {
        let page = page_plus(&bench, &root, cookie, 32_768);
        for one in page.entries.iter() {
            let found = bench.lookup(&root, &String::from_utf8_lossy(&one.name));
            assert_eq!((one.handle.as_ref(), one.attributes.as_ref()), (Some(&found.file), found.attributes.as_ref()));
            assert_eq!(Some(one.fileid), found.attributes.map(|attributes| attributes.fileid));
            cookie = one.cookie;
            seen += 1;
        }
        assert_eq!(page.attributes, Some(bench.attributes(&root)));
        if page.eof {
            break;
        }
        assert!(page.entries.len() > 150, "{}", page.entries.len());
    }
    assert_eq!(seen, 1003);
}

/// E117
#[test]
fn only_directories_are_listed_and_with_permission() {
    let (bench, root, f) = with_f();
    let d = bench.make_directory(&root, "D");
    assert_eq!(bench.status(&list(&f, 0, [0; 8], 8192)), Some(Status::NOTDIR));
    assert_eq!(bench.status(&plus(&f, 0, [0; 8], 8192)), Some(Status::NOTDIR));
    super::do_set(&bench, &d, crate::testing::mode(0o751));
    bench.user(1000);
    assert_eq!(bench.status(&list(&d, 0, [0; 8], 8192)), Some(Status::ACCES));
    bench.user(0);
    super::do_set(&bench, &d, crate::testing::mode(0o754));
    bench.user(1000);
    assert_eq!(names(&bench, &d, 8192, 0).0, [".", ".."]);
}
