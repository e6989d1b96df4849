//! Rules of names: creation, look-up, links, removal.

use super::Fixture;
use super::run::{FILE, Run, bytes, good, name, user};
use crate::{
    Device, Exclusive, Expect, FileSystem, FsError, Kind, LinkTarget, New, NewKind, Place, Removes, SetAttributes,
};
use ::bytes::Bytes;

pub(super) fn a_name_leads_to_its_file<F: Fixture>(run: &Run<F>) {
    let (one, two, root) = (run.file("one"), run.directory("two"), run.root());
    let inner = run.new_in(two, "one", FILE);
    assert_eq!(run.find(root, "one"), Ok(one));
    assert_eq!(run.find(root, "two"), Ok(two));
    assert_eq!(run.find(two, "one"), Ok(inner));
    assert_eq!(run.find(two, "two"), Err(FsError::NotFound));
    assert!(one != two && one != inner && two != inner);
    let found = good(run.end(run.fs().lookup(run.call(), root, &name("one"))));
    assert_eq!((found.file, found.directory), (run.attributes(one), run.attributes(root)));
}

pub(super) fn names_are_compared_byte_by_byte<F: Fixture>(run: &Run<F>) {
    let (mut seen, long) = (Vec::new(), "n".repeat(255));
    for text in ["a", "A", "a ", "\u{e4}", "a\u{308}", "...", &long] {
        assert_eq!(run.find(run.root(), text), Err(FsError::NotFound), "{text:?}");
        seen.push((text, run.file(text)));
    }
    for (text, file) in seen {
        assert_eq!(run.find(run.root(), text), Ok(file), "{text:?}");
    }
}

pub(super) fn a_creation_changes_its_directory<F: Fixture>(run: &Run<F>) {
    let directory = run.directory("d");
    let before = run.attributes(directory);
    let created = good(run.create(run.call(), directory, "a", FILE, SetAttributes::default()));
    let after = run.attributes(directory);
    assert!(created.created);
    assert_eq!(created.file, run.attributes(created.file.file));
    assert_eq!((created.directory.before.change, created.directory.after), (before.change, after));
    assert!(after.change > before.change && after.modified > before.modified && after.changed > before.changed);
}

pub(super) fn each_kind_of_file_is_created_as_asked<F: Fixture>(run: &Run<F>) {
    let target = good(LinkTarget::new(Bytes::from_static(b"../x")).map_err(FsError::from));
    let device = Device { major: 8, minor: 300 };
    let kinds = [
        (FILE, Kind::File, 1, Device::default()),
        (NewKind::Directory, Kind::Directory, 2, Device::default()),
        (NewKind::Symlink(target), Kind::Symlink, 1, Device::default()),
        (NewKind::BlockDevice(device), Kind::BlockDevice, 1, device),
        (NewKind::CharacterDevice(device), Kind::CharacterDevice, 1, device),
        (NewKind::Fifo, Kind::Fifo, 1, Device::default()),
        (NewKind::Socket, Kind::Socket, 1, Device::default()),
    ];
    for (number, (what, kind, links, device)) in kinds.into_iter().enumerate() {
        let set = SetAttributes { mode: Some(0o751), user: Some(7), group: Some(8), ..Default::default() };
        let call = run.call();
        let file = good(run.create(call, run.root(), &number.to_string(), what, set)).file;
        assert_eq!((file.kind, file.links, file.device), (kind, links, device));
        assert_eq!((file.mode, file.user, file.group), (0o751, 7, 8), "{kind}");
        assert_eq!([file.accessed, file.modified, file.changed, file.born], [call.now; 4], "{kind}");
        assert_eq!(run.attributes(file.file), file);
    }
    let sized = SetAttributes { size_bytes: Some(5000), ..Default::default() };
    let file = good(run.create(run.call(), run.root(), "sized", FILE, sized)).file;
    assert_eq!((file.size_bytes, file.used_bytes, run.get(file.file, 0, 9000)), (5000, 0, vec![0; 5000]));
}

pub(super) fn a_name_that_exists_is_not_created_again<F: Fixture>(run: &Run<F>) {
    let (file, directory) = (run.file("f"), run.directory("d"));
    let exclusive = NewKind::File { exclusive: Exclusive::Yes, hold: false };
    for (text, file, kind) in [("f", file, Kind::File), ("d", directory, Kind::Directory)] {
        let before = run.attributes(run.root());
        for what in [exclusive.clone(), NewKind::Directory, NewKind::Fifo] {
            let created = run.create(run.call(), run.root(), text, what, SetAttributes::default());
            assert_eq!(created, Err(FsError::Exists { file, kind }));
        }
        assert_eq!(run.link(run.file("other"), run.root(), text), Err(FsError::Exists { file, kind }));
        good(run.remove(run.root(), "other"));
        assert_eq!(run.attributes(run.root()).links, before.links);
        assert_eq!(run.find(run.root(), text), Ok(file));
    }
    let opened = run.create(run.call(), run.root(), "d", FILE, SetAttributes::default());
    assert_eq!(opened, Err(FsError::Exists { file: directory, kind: Kind::Directory }));
}

pub(super) fn an_existing_file_is_opened_and_keeps_its_attributes<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 5000));
    let (before, root) = (run.attributes(file), run.attributes(run.root()));
    let set = SetAttributes { mode: Some(0o111), user: Some(9), ..Default::default() };
    let opened = good(run.create(run.call(), run.root(), "f", FILE, set));
    assert_eq!((opened.created, opened.file), (false, before));
    assert_eq!((opened.directory.before.change, opened.directory.after), (root.change, root));
    let truncate = SetAttributes { size_bytes: Some(0), ..set };
    let opened = good(run.create(run.call(), run.root(), "f", FILE, truncate));
    assert_eq!((opened.file.size_bytes, opened.file.mode, opened.file.user), (0, before.mode, before.user));
    assert!(opened.file.change > before.change);
}

pub(super) fn an_exclusive_creation_is_repeated_with_its_verifier_alone<F: Fixture>(run: &Run<F>) {
    let set = SetAttributes { mode: Some(0o600), ..Default::default() };
    let create = |verifier| {
        let what = NewKind::File { exclusive: Exclusive::Verifier(verifier), hold: false };
        run.create(run.call(), run.root(), "f", what, set)
    };
    let first = good(create(77));
    assert!(first.created);
    let second = good(create(77));
    assert_eq!((second.created, second.file), (false, first.file));
    let file = first.file.file;
    assert_eq!(create(78), Err(FsError::Exists { file, kind: Kind::File }));
    // Who changes attributes has the file, and repeats nothing.
    good(run.set(run.call(), file, SetAttributes { mode: Some(0o640), ..Default::default() }));
    assert_eq!(create(77), Err(FsError::Exists { file, kind: Kind::File }));
    // A file that was created otherwise has no verifier, not even 0.
    let other = run.file("g");
    let what = NewKind::File { exclusive: Exclusive::Verifier(0), hold: false };
    let exists = Err(FsError::Exists { file: other, kind: Kind::File });
    assert_eq!(run.create(run.call(), run.root(), "g", what, set), exists);
}

pub(super) fn a_link_is_another_name_of_the_file<F: Fixture>(run: &Run<F>) {
    let (file, directory) = (run.file("a"), run.directory("d"));
    let (before, of_directory) = (run.attributes(file), run.attributes(directory));
    let to = name("b");
    let linked = good(run.end(run.fs().link(run.call(), file, Place { directory, name: &to })));
    assert_eq!((linked.file.after.links, linked.file.before.change), (2, before.change));
    assert!(linked.file.after.changed > before.changed && linked.file.after.modified == before.modified);
    assert!(linked.directory.after.modified > of_directory.modified);
    run.put(file, 0, b"through one name");
    assert_eq!(run.find(directory, "b"), Ok(file));
    good(run.remove(run.root(), "a"));
    assert_eq!((run.attributes(file).links, run.get(file, 0, 100)), (1, b"through one name".to_vec()));
}

pub(super) fn directories_have_one_name<F: Fixture>(run: &Run<F>) {
    let directory = run.directory("d");
    assert_eq!(run.link(directory, run.root(), "e"), Err(FsError::IsDirectory));
    assert_eq!(run.find(run.root(), "e"), Err(FsError::NotFound));
}

pub(super) fn a_file_has_at_most_as_many_links_as_the_limit_says<F: Fixture>(run: &Run<F>) {
    let (file, limit) = (run.file("0"), run.fs().limits().links);
    for number in 1..limit {
        assert_eq!(run.link(file, run.root(), &number.to_string()), Ok(()), "link {number}");
    }
    assert_eq!(run.attributes(file).links, limit);
    assert_eq!(run.link(file, run.root(), "more"), Err(FsError::TooManyLinks { limit }));
    assert_eq!(run.find(run.root(), "more"), Err(FsError::NotFound));
}

pub(super) fn a_removed_file_is_stale<F: Fixture>(run: &Run<F>) {
    let (file, directory) = (run.file_with("f", b"x"), run.directory("d"));
    let before = run.attributes(run.root());
    let removed = good(run.remove(run.root(), "f"));
    assert_eq!((removed.file.file, removed.file.links), (file, 0));
    assert!(removed.directory.after.change > before.change && removed.directory.after.modified > before.modified);
    good(run.remove(run.root(), "d"));
    assert_eq!(run.find(run.root(), "f"), Err(FsError::NotFound));
    assert_eq!(run.remove(run.root(), "f"), Err(FsError::NotFound));
    assert_eq!(run.end(run.fs().attributes(file)), Err(FsError::Stale));
    assert_eq!(run.end(run.fs().read(run.call(), file, 0, 1)).err(), Some(FsError::Stale));
    assert_eq!(run.end(run.fs().attributes(directory)), Err(FsError::Stale));
    assert_eq!(run.find(directory, "a"), Err(FsError::Stale));
    let created = run.create(run.call(), directory, "a", FILE, SetAttributes::default());
    assert_eq!(created.err(), Some(FsError::Stale));
}

pub(super) fn a_removal_takes_only_the_kinds_it_names<F: Fixture>(run: &Run<F>) {
    let (_, _) = (run.file("f"), run.directory("d"));
    let remove = |text: &str, removes| {
        let from = name(text);
        let from = Place { directory: run.root(), name: &from };
        run.end(run.fs().remove(run.call(), from, removes, Expect::Anything)).err()
    };
    assert_eq!(remove("d", Removes::NoDirectory), Some(FsError::IsDirectory));
    assert_eq!(remove("f", Removes::Directory), Some(FsError::NotDirectory { kind: Kind::File }));
    assert_eq!(remove("f", Removes::NoDirectory), None);
    assert_eq!(remove("d", Removes::Directory), None);
}

pub(super) fn a_directory_with_entries_is_neither_removed_nor_replaced<F: Fixture>(run: &Run<F>) {
    let (full, _) = (run.directory("full"), run.directory("other"));
    let inner = run.new_in(full, "a", FILE);
    assert_eq!(run.remove(run.root(), "full").err(), Some(FsError::NotEmpty));
    let renamed = run.rename((run.root(), "other"), (run.root(), "full"));
    assert_eq!(renamed.err(), Some(FsError::NotEmpty));
    assert_eq!(run.find(full, "a"), Ok(inner));
    good(run.remove(full, "a"));
    good(run.remove(run.root(), "full"));
}

pub(super) fn a_change_happens_to_the_expected_file_only<F: Fixture>(run: &Run<F>) {
    let (one, two, root) = (run.file("one"), run.file("two"), run.root());
    let changed = |file| Some(FsError::NameChanged { file: Some(file) });
    assert_eq!(run.remove_expecting(root, "one", Expect::File(two)).err(), changed(one));
    let rename = |expect| run.rename_by(run.call(), (root, "one"), (root, "two"), expect).err();
    assert_eq!(rename(Expect::Nothing), changed(two));
    assert_eq!(rename(Expect::File(one)), changed(two));
    assert_eq!((run.find(root, "one"), run.find(root, "two")), (Ok(one), Ok(two)));
    assert_eq!(rename(Expect::File(two)), None);
    let rename = run.rename_by(run.call(), (root, "two"), (root, "three"), Expect::Nothing);
    assert_eq!(rename.map(|renamed| renamed.file.file), Ok(one));
    assert_eq!(run.remove_expecting(root, "three", Expect::File(one)).err(), None);
}

pub(super) fn a_number_of_a_deleted_file_is_never_given_again<F: Fixture>(run: &Run<F>) {
    let mut seen = std::collections::BTreeSet::from([run.root()]);
    for round in 0..200 {
        let file = if round % 2 == 0 { run.file("f") } else { run.directory("f") };
        assert!(seen.insert(file), "{file:?} in round {round}");
        good(run.remove(run.root(), "f"));
    }
}

pub(super) fn files_are_no_directories<F: Fixture>(run: &Run<F>) {
    let (fs, file) = (run.fs(), run.file("f"));
    let fifo = run.new_in(run.root(), "p", NewKind::Fifo);
    for (file, kind) in [(file, Kind::File), (fifo, Kind::Fifo)] {
        let error = FsError::NotDirectory { kind };
        let (a, place) = (name("a"), name("a"));
        let place = Place { directory: file, name: &place };
        let good_place = Place { directory: run.root(), name: &a };
        assert_eq!(run.end(fs.lookup(run.call(), file, &a)).err(), Some(error.clone()));
        assert_eq!(run.end(fs.parent(run.call(), file)).err(), Some(error.clone()));
        assert_eq!(
            run.end(fs.read_directory(run.call(), file, crate::Cookie::START, 9, false)).err(),
            Some(error.clone())
        );
        let new = New { what: FILE, attributes: SetAttributes::default() };
        assert_eq!(run.end(fs.create(run.call(), file, &a, &new)).err(), Some(error.clone()));
        assert_eq!(run.end(fs.link(run.call(), fifo, place)).err(), Some(error.clone()));
        let removed = fs.remove(run.call(), place, Removes::Anything, Expect::Anything);
        assert_eq!(run.end(removed).err(), Some(error.clone()));
        assert_eq!(run.end(fs.rename(run.call(), place, good_place, Expect::Anything)).err(), Some(error.clone()));
        assert_eq!(run.end(fs.rename(run.call(), good_place, place, Expect::Anything)).err(), Some(error));
    }
}

pub(super) fn a_symbolic_link_keeps_its_target<F: Fixture>(run: &Run<F>) {
    for (text, target) in [("s", &b"a/../\xff b"[..]), ("t", &[b'x'; 4095])] {
        let target = good(LinkTarget::new(Bytes::copy_from_slice(target)).map_err(FsError::from));
        let link = run.new_in(run.root(), text, NewKind::Symlink(target.clone()));
        let (read, attributes) = good(run.end(run.fs().read_link(link)));
        assert_eq!((&read, attributes), (&target, run.attributes(link)));
        assert_eq!(attributes.size_bytes, target.bytes().len() as u64);
    }
    let read = |file| run.end(run.fs().read_link(file)).err();
    assert_eq!(read(run.file("f")), Some(FsError::WrongKind { kind: Kind::File }));
    assert_eq!(read(run.root()), Some(FsError::IsDirectory));
    // A link is a file of its own, whatever its owner.
    let caller = user(5, 5);
    let removed = run.rename_by(run.by(&caller), (run.root(), "s"), (run.root(), "u"), Expect::Anything);
    assert!(matches!(removed, Err(FsError::Denied { .. })));
}
