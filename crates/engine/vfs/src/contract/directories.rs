//! Rules of directories: renames, parents, listings.

use super::Fixture;
use super::run::{FILE, Run, good};
use crate::{Cookie, FileId, FileSystem, FsError, Kind, NewKind};
use std::collections::BTreeMap;

fn parent<F: Fixture>(run: &Run<F>, directory: FileId) -> FileId {
    good(run.end(run.fs().parent(run.call(), directory))).file
}

pub(super) fn a_rename_moves_the_name_and_keeps_the_file<F: Fixture>(run: &Run<F>) {
    let (root, target) = (run.root(), run.directory("d"));
    let file = run.file_with("a", b"content");
    let (before, of_root, of_target) = (run.attributes(file), run.attributes(root), run.attributes(target));
    let renamed = good(run.rename((root, "a"), (target, "b")));
    assert_eq!((run.find(root, "a"), run.find(target, "b")), (Err(FsError::NotFound), Ok(file)));
    assert_eq!((renamed.file, renamed.replaced), (run.attributes(file), None));
    assert_eq!((renamed.from.before.change, renamed.from.after), (of_root.change, run.attributes(root)));
    assert_eq!((renamed.to.before.change, renamed.to.after), (of_target.change, run.attributes(target)));
    for (directory, before) in [(renamed.from.after, of_root), (renamed.to.after, of_target)] {
        assert!(directory.change > before.change && directory.modified > before.modified);
    }
    assert!(renamed.file.changed > before.changed && renamed.file.modified == before.modified);
    assert_eq!((run.get(file, 0, 9), renamed.file.links), (b"content".to_vec(), 1));
    let within = good(run.rename((target, "b"), (target, "c")));
    assert_eq!(within.from, within.to);
    assert_eq!(run.rename((target, "b"), (target, "x")).err(), Some(FsError::NotFound));
}

pub(super) fn a_rename_replaces_what_had_the_name<F: Fixture>(run: &Run<F>) {
    let (root, new, old) = (run.root(), run.file("new"), run.file_with("old", b"old"));
    good(run.link(old, root, "other"));
    let renamed = good(run.rename((root, "new"), (root, "old")));
    assert_eq!(renamed.replaced.map(|file| (file.file, file.links)), Some((old, 1)));
    assert_eq!((run.find(root, "old"), run.find(root, "other")), (Ok(new), Ok(old)));
    assert_eq!(run.attributes(old).links, 1);
    // The last name: the replaced file is gone.
    good(run.rename((root, "old"), (root, "other")));
    assert_eq!(run.end(run.fs().attributes(old)), Err(FsError::Stale));
    let (empty, moved) = (run.directory("empty"), run.directory("moved"));
    let links = run.attributes(root).links;
    good(run.rename((root, "moved"), (root, "empty")));
    assert_eq!((run.find(root, "empty"), run.attributes(root).links), (Ok(moved), links - 1));
    assert_eq!(run.end(run.fs().attributes(empty)), Err(FsError::Stale));
}

pub(super) fn a_rename_between_names_of_one_file_changes_nothing<F: Fixture>(run: &Run<F>) {
    let (root, file) = (run.root(), run.file("a"));
    good(run.link(file, root, "b"));
    let (before, of_root) = (run.attributes(file), run.attributes(root));
    for to in ["b", "a"] {
        let renamed = good(run.rename((root, "a"), (root, to)));
        assert_eq!((renamed.replaced, renamed.from.before.change), (None, of_root.change));
        assert_eq!((run.find(root, "a"), run.find(root, "b")), (Ok(file), Ok(file)));
        assert_eq!((run.attributes(file), run.attributes(root).change), (before, of_root.change));
    }
}

pub(super) fn a_rename_replaces_like_with_like<F: Fixture>(run: &Run<F>) {
    let (root, file, directory) = (run.root(), run.file("f"), run.directory("d"));
    assert_eq!(run.rename((root, "f"), (root, "d")).err(), Some(FsError::IsDirectory));
    assert_eq!(run.rename((root, "d"), (root, "f")).err(), Some(FsError::NotDirectory { kind: Kind::File }));
    assert_eq!((run.find(root, "f"), run.find(root, "d")), (Ok(file), Ok(directory)));
    let fifo = run.new_in(root, "p", NewKind::Fifo);
    good(run.rename((root, "p"), (root, "f")));
    assert_eq!(run.find(root, "f"), Ok(fifo));
}

pub(super) fn a_directory_never_moves_below_itself<F: Fixture>(run: &Run<F>) {
    let (root, a) = (run.root(), run.directory("a"));
    let b = run.new_in(a, "b", NewKind::Directory);
    let c = run.new_in(b, "c", NewKind::Directory);
    for below in [a, b, c] {
        assert_eq!(run.rename((root, "a"), (below, "x")).err(), Some(FsError::IntoItself));
    }
    assert_eq!((parent(run, c), parent(run, b), parent(run, a)), (b, a, root));
    assert_eq!(run.find(root, "a"), Ok(a));
    // Upwards is no cycle, and neither is a file.
    good(run.rename((b, "c"), (root, "c")));
    good(run.rename((root, "a"), (c, "a")));
    run.file("f");
    good(run.rename((root, "f"), (b, "f")));
}

pub(super) fn a_moved_directory_has_its_new_parent<F: Fixture>(run: &Run<F>) {
    let (from, to) = (run.directory("from"), run.directory("to"));
    let moved = run.new_in(from, "d", NewKind::Directory);
    assert_eq!(parent(run, moved), from);
    good(run.rename((from, "d"), (to, "d")));
    assert_eq!(parent(run, moved), to);
    assert_eq!((run.attributes(from).links, run.attributes(to).links), (2, 3));
    good(run.remove(run.root(), "from"));
    assert_eq!(run.find(to, "d"), Ok(moved));
}

pub(super) fn sub_directories_count_as_links<F: Fixture>(run: &Run<F>) {
    let links = || run.attributes(run.root()).links;
    assert_eq!(links(), 2);
    let directory = run.directory("d");
    assert_eq!((links(), run.attributes(directory).links), (3, 2));
    run.file("f");
    run.directory("e");
    assert_eq!(links(), 4);
    good(run.remove(run.root(), "d"));
    assert_eq!(links(), 3);
}

pub(super) fn the_root_is_its_own_parent<F: Fixture>(run: &Run<F>) {
    let root = run.root();
    assert_eq!(parent(run, root), root);
    assert_eq!(parent(run, run.directory("d")), root);
    assert_eq!(run.attributes(root).kind, Kind::Directory);
    assert_eq!(run.fs().root(), root);
}

/// A directory with files `0` to `count - 1`.
fn directory_of<F: Fixture>(run: &Run<F>, count: u32) -> FileId {
    let directory = run.directory("d");
    for number in 0..count {
        run.new_in(directory, &number.to_string(), FILE);
    }
    directory
}

pub(super) fn a_listing_in_pieces_has_every_entry_once<F: Fixture>(run: &Run<F>) {
    let directory = directory_of(run, 300);
    for most in [1, 7, 128] {
        let listed = run.list_all(directory, most);
        assert!(listed.is_sorted_by(|one, next| one.cookie < next.cookie));
        assert!(listed.iter().all(|entry| entry.cookie >= Cookie::FIRST && entry.cookie.0 < 1 << 63));
        let mut names: Vec<String> =
            listed.iter().filter_map(|entry| entry.name.as_text().map(str::to_owned)).collect();
        names.sort();
        let mut expected: Vec<String> = (0..300).map(|number| number.to_string()).collect();
        expected.sort();
        assert_eq!(names, expected, "{most} at a time");
    }
    let (entries, end) = run.list(directory, Cookie::START, 1000);
    assert!(entries.len() <= run.fs().limits().listed_entries && end == (entries.len() == 300));
    assert_eq!(run.list(run.directory("empty"), Cookie::START, 9), (vec![], true));
    assert_eq!(run.list(directory, Cookie(u64::MAX), 9), (vec![], true));
}

pub(super) fn a_listing_continues_behind_a_removed_entry<F: Fixture>(run: &Run<F>) {
    let directory = directory_of(run, 100);
    let mut left: BTreeMap<String, ()> = (0..100).map(|number| (number.to_string(), ())).collect();
    let mut after = Cookie::START;
    // Each piece is removed before the next is read, and as many files are created.
    for round in 0.. {
        let (entries, end) = run.list(directory, after, 10);
        for entry in &entries {
            let text = entry.name.as_text().unwrap_or_default().to_owned();
            if text.parse::<u32>().is_ok() {
                assert_eq!(left.remove(&text), Some(()), "{text} is listed twice");
            }
            good(run.remove(directory, &text));
            after = after.max(entry.cookie);
        }
        if end {
            break;
        }
        assert!(round < 1000, "the listing never ends");
        run.new_in(directory, &format!("new {round}"), FILE);
    }
    assert_eq!(left.len(), 0, "{left:?} are never listed");
}

pub(super) fn cookies_stay_with_their_entries<F: Fixture>(run: &Run<F>) {
    let directory = directory_of(run, 60);
    let cookies = || -> BTreeMap<FileId, Cookie> {
        run.list_all(directory, 128).into_iter().map(|entry| (entry.file, entry.cookie)).collect()
    };
    let before = cookies();
    for number in 0..30 {
        good(run.remove(directory, &(number * 2).to_string()));
        run.new_in(directory, &format!("new {number}"), FILE);
    }
    good(run.set(run.call(), directory, crate::SetAttributes { mode: Some(0o700), ..Default::default() }));
    run.restart(super::Restart::Clean);
    let after = cookies();
    let stayed: Vec<_> = before.iter().filter(|(file, _)| after.contains_key(file)).collect();
    assert_eq!(stayed.len(), 30);
    assert!(stayed.iter().all(|(file, cookie)| after.get(file) == Some(cookie)));
}

pub(super) fn an_entry_is_listed_with_its_file<F: Fixture>(run: &Run<F>) {
    let directory = run.directory("d");
    let file = run.new_in(directory, "f", FILE);
    let inner = run.new_in(directory, "i", NewKind::Directory);
    run.put(file, 0, b"data");
    let listing = good(run.end(run.fs().read_directory(run.call(), directory, Cookie::START, 10, true)));
    assert!(listing.end && listing.entries.len() == 2 && listing.directory == run.attributes(directory));
    for entry in listing.entries {
        let expected = if entry.name.as_text() == Some("f") { (file, Kind::File) } else { (inner, Kind::Directory) };
        assert_eq!((entry.file, entry.kind), expected);
        assert_eq!(entry.attributes, Some(Ok(run.attributes(entry.file))));
    }
    assert!(run.list(directory, Cookie::START, 10).0.iter().all(|entry| entry.attributes.is_none()));
}
