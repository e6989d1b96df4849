//! Rules of permissions. What each bit permits is in `policy`; here it is used.

use super::Fixture;
use super::run::{FILE, Run, good, name, user};
use crate::{Cookie, FileSystem, FsError, NewKind, Permission, SetAttributes, Stability};

pub(super) fn mode_bits_protect_names<F: Fixture>(run: &Run<F>) {
    let caller = user(5, 5);
    let directory = run.directory("d");
    run.new_in(directory, "f", FILE);
    let (fs, f) = (run.fs(), name("f"));
    for (mode, search, list, change) in [
        (0o700, false, false, false),
        (0o711, true, false, false),
        (0o774, false, true, false),
        (0o773, true, false, true),
    ] {
        good(run.set(run.call(), directory, SetAttributes { mode: Some(mode), ..Default::default() }));
        let call = run.by(&caller);
        assert_eq!(run.end(fs.lookup(call, directory, &f)).is_ok(), search, "{mode:o}");
        assert_eq!(run.end(fs.read_directory(call, directory, Cookie::START, 9, false)).is_ok(), list, "{mode:o}");
        let created = run.create(call, directory, "g", FILE, SetAttributes::default());
        assert_eq!(created.is_ok(), change, "{mode:o}");
        let renamed = run.rename_by(call, (directory, "g"), (directory, "h"), Default::default());
        assert_eq!(renamed.is_ok(), change, "{mode:o}");
    }
}

pub(super) fn mode_bits_protect_content<F: Fixture>(run: &Run<F>) {
    let caller = user(5, 5);
    let file = run.file_with("f", b"abc");
    let (fs, denied) = (run.fs(), |needs| Some(FsError::Denied { needs }));
    let call = run.by(&caller);
    assert_eq!(run.end(fs.read(call, file, 0, 3)).err(), None);
    assert_eq!(run.write(call, file, 0, b"x", Stability::Durable).err(), denied(Permission::Write));
    assert_eq!(run.end(fs.zero(call, file, 0, 1)).err(), denied(Permission::Write));
    assert_eq!(run.end(fs.deallocate(call, file, 0, 1)).err(), denied(Permission::Write));
    assert_eq!(run.end(fs.allocate(call, file, 0, 1)).err(), denied(Permission::Write));
    good(run.set(run.call(), file, SetAttributes { mode: Some(0), ..Default::default() }));
    assert_eq!(run.end(fs.read(call, file, 0, 3)).err(), denied(Permission::Read));
    assert_eq!(run.get(file, 0, 9), b"abc");
}

pub(super) fn an_open_file_is_read_and_written_whatever_its_mode<F: Fixture>(run: &Run<F>) {
    let caller = user(5, 5);
    let file = run.file_with("f", b"abc");
    good(run.set(run.call(), file, SetAttributes { mode: Some(0), ..Default::default() }));
    let call = run.by(&caller).opened();
    good(run.write(call, file, 1, b"x", Stability::Durable));
    assert_eq!(good(run.end(run.fs().read(call, file, 0, 9))).into_bytes(), &b"axc"[..]);
    // The owner has that right without an open.
    good(run.set(run.call(), file, SetAttributes { user: Some(5), ..Default::default() }));
    good(run.write(run.by(&caller), file, 1, b"y", Stability::Durable));
}

pub(super) fn set_id_bits_do_not_outlive_a_write<F: Fixture>(run: &Run<F>) {
    let caller = user(5, 5);
    let file = run.file_with("f", b"abc");
    let set = SetAttributes { mode: Some(0o6777), ..Default::default() };
    good(run.set(run.call(), file, set));
    let after = good(run.write(run.call(), file, 0, b"x", Stability::Durable)).after;
    assert_eq!(after.mode, 0o6777, "user 0 keeps them");
    let after = good(run.write(run.by(&caller), file, 0, b"x", Stability::Durable)).after;
    assert_eq!(after.mode, 0o777);
}

pub(super) fn new_files_belong_to_their_caller<F: Fixture>(run: &Run<F>) {
    let caller = user(5, 6);
    let directory = run.directory("d");
    let set = SetAttributes { mode: Some(0o2777), group: Some(9), ..Default::default() };
    let create = |text, what| {
        let mode = SetAttributes { mode: Some(0o755), ..Default::default() };
        let file = good(run.create(run.by(&caller), directory, text, what, mode)).file;
        (file.user, file.group, file.mode)
    };
    good(run.set(run.call(), directory, SetAttributes { mode: Some(0o777), ..Default::default() }));
    assert_eq!(create("a", FILE), (5, 6, 0o755));
    good(run.set(run.call(), directory, set));
    assert_eq!(create("b", FILE), (5, 9, 0o755));
    assert_eq!(create("c", NewKind::Directory), (5, 9, 0o2755));
    let of_other = SetAttributes { user: Some(7), ..Default::default() };
    let refused = run.create(run.by(&caller), directory, "e", FILE, of_other);
    assert_eq!((refused, run.find(directory, "e")), (Err(FsError::NotOwner), Err(FsError::NotFound)));
}

pub(super) fn sticky_directories_protect_the_files_of_others<F: Fixture>(run: &Run<F>) {
    let (owner, other) = (user(5, 5), user(6, 6));
    let directory = run.directory("d");
    good(run.set(run.call(), directory, SetAttributes { mode: Some(0o1777), ..Default::default() }));
    good(run.create(run.by(&owner), directory, "a", FILE, SetAttributes::default()));
    good(run.create(run.by(&other), directory, "b", FILE, SetAttributes::default()));
    let rename =
        |caller, from, to| run.rename_by(run.by(caller), (directory, from), (directory, to), Default::default()).err();
    assert_eq!(rename(&other, "a", "x"), Some(FsError::NotOwner));
    assert_eq!(rename(&other, "b", "a"), Some(FsError::NotOwner));
    assert_eq!(rename(&owner, "a", "x"), None);
}
