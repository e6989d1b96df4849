//! Rules of extended attributes.

use super::Fixture;
use super::run::{Run, good, user};
use crate::{Changed, FileId, FileSystem, FsError, Kind, NewKind, Permission, SetXattr, XattrName};
use bytes::Bytes;

fn name(text: &str) -> XattrName {
    good(XattrName::try_from(text).map_err(FsError::from))
}

fn set<F: Fixture>(run: &Run<F>, file: FileId, text: &str, value: &[u8], how: SetXattr) -> Result<Changed, FsError> {
    run.end(run.fs().set_xattr(run.call(), file, &name(text), Bytes::copy_from_slice(value), how))
}

fn value<F: Fixture>(run: &Run<F>, file: FileId, text: &str) -> Result<Bytes, FsError> {
    run.end(run.fs().xattr(run.call(), file, &name(text)))
}

pub(super) fn a_value_is_what_was_set<F: Fixture>(run: &Run<F>) {
    let (file, other) = (run.file("f"), run.file("g"));
    for (text, bytes) in [("b", &b"\0\xff"[..]), ("a/x", b""), ("c", &[7; 5000]), ("b", b"new")] {
        good(set(run, file, text, bytes, SetXattr::Either));
        assert_eq!(value(run, file, text), Ok(Bytes::copy_from_slice(bytes)));
    }
    let names = || good(run.end(run.fs().xattr_names(run.call(), file)));
    assert_eq!(names(), [name("a/x"), name("b"), name("c")]);
    run.restart(super::Restart::Crash);
    assert_eq!(value(run, file, "b"), Ok(Bytes::from_static(b"new")));
    good(run.end(run.fs().remove_xattr(run.call(), file, &name("b"))));
    assert_eq!((value(run, file, "b"), names().len()), (Err(FsError::NoXattr), 2));
    assert_eq!(value(run, other, "c"), Err(FsError::NoXattr));
    assert_eq!(run.attributes(file).size_bytes, 0);
}

pub(super) fn creation_and_replacement_are_told_apart<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    assert_eq!(set(run, file, "a", b"1", SetXattr::Replace).err(), Some(FsError::NoXattr));
    good(set(run, file, "a", b"1", SetXattr::Create));
    assert_eq!(set(run, file, "a", b"2", SetXattr::Create).err(), Some(FsError::XattrExists));
    assert_eq!(value(run, file, "a"), Ok(Bytes::from_static(b"1")));
    good(set(run, file, "a", b"3", SetXattr::Replace));
    let removed = run.end(run.fs().remove_xattr(run.call(), file, &name("x")));
    assert_eq!(removed.err(), Some(FsError::NoXattr));
}

pub(super) fn an_extended_attribute_is_a_change_of_the_file<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    let before = run.attributes(file);
    let changed = good(set(run, file, "a", b"1", SetXattr::Either));
    assert_eq!((changed.before.change, changed.after), (before.change, run.attributes(file)));
    assert!(changed.after.change > before.change && changed.after.changed > before.changed);
    assert_eq!(changed.after.modified, before.modified);
    let removed = good(run.end(run.fs().remove_xattr(run.call(), file, &name("a"))));
    assert!(removed.after.change > changed.after.change);
}

pub(super) fn extended_attributes_have_limits<F: Fixture>(run: &Run<F>) {
    let (file, limits) = (run.file("f"), run.fs().limits());
    let (limit_bytes, limit_names) = (limits.xattr_bytes, limits.xattr_names);
    let too_large = Some(FsError::XattrsTooLarge { limit_bytes, limit_names });
    let all = vec![1; limit_bytes as usize];
    let before = run.attributes(file);
    assert_eq!(set(run, file, "a", &all, SetXattr::Either).err(), too_large);
    assert_eq!(run.attributes(file), before);
    for number in 0..limit_names {
        good(set(run, file, &number.to_string(), b"x", SetXattr::Create));
    }
    assert_eq!(set(run, file, "more", b"x", SetXattr::Either).err(), too_large);
    good(set(run, file, "0", b"xx", SetXattr::Replace));
}

pub(super) fn extended_attributes_belong_to_files_and_directories<F: Fixture>(run: &Run<F>) {
    good(set(run, run.directory("d"), "a", b"1", SetXattr::Either));
    let fifo = run.new_in(run.root(), "p", NewKind::Fifo);
    let error = FsError::WrongKind { kind: Kind::Fifo };
    assert_eq!(set(run, fifo, "a", b"1", SetXattr::Either).err(), Some(error.clone()));
    assert_eq!(value(run, fifo, "a").err(), Some(error));
}

pub(super) fn extended_attributes_need_permission<F: Fixture>(run: &Run<F>) {
    let (caller, file) = (user(5, 5), run.file("f"));
    good(set(run, file, "a", b"1", SetXattr::Either));
    let call = run.by(&caller);
    let fs = run.fs();
    let key = name("a");
    let denied = Some(FsError::Denied { needs: Permission::Write });
    assert_eq!(run.end(fs.set_xattr(call, file, &key, Bytes::new(), SetXattr::Either)).err(), denied);
    assert_eq!(run.end(fs.remove_xattr(call, file, &key)).err(), denied);
    assert_eq!(run.end(fs.xattr(call, file, &key)), Ok(Bytes::from_static(b"1")));
}
