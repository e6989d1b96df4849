//! Rules of attributes: change values, times, guards, sizes.

use super::Fixture;
use super::run::{FILE, Run, bytes, good};
use crate::{Cookie, FileSystem, FsError, Kind, NewKind, SetAttributes, SetTime, Stability, Timestamp};

pub(super) fn each_change_has_a_larger_change_value_and_a_later_time<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"1");
    let fs = run.fs();
    // All within one instant, which also lies before the last change.
    let call = crate::Call { now: run.attributes(file).born, ..run.call() };
    let mode = SetAttributes { mode: Some(0o600), ..Default::default() };
    let mut last = run.attributes(file);
    let mut changes = |what: &str| {
        let now = run.attributes(file);
        assert!(now.change > last.change && now.changed > last.changed, "{what}: {now:?} after {last:?}");
        last = now;
    };
    good(run.write(call, file, 0, b"2", Stability::Durable));
    changes("write");
    good(run.write(call, file, 0, b"2", Stability::Unstable));
    changes("write of the same");
    good(run.set(call, file, mode));
    changes("mode");
    good(run.set(call, file, SetAttributes { size_bytes: Some(9), ..Default::default() }));
    changes("size");
    good(run.end(fs.zero(call, file, 0, 4)));
    changes("zero");
    good(run.end(fs.allocate(call, file, 0, 8192)));
    changes("allocate");
    good(run.end(fs.deallocate(call, file, 0, 4096)));
    changes("deallocate");
    good(run.link(file, run.root(), "g"));
    changes("link");
    good(run.rename((run.root(), "g"), (run.root(), "h")));
    changes("rename");
    good(run.remove(run.root(), "h"));
    changes("remove");
    let source = run.file_with("s", &bytes(1, 4096));
    good(run.clone_range((source, 0, None), (file, 0)));
    changes("clone");
}

pub(super) fn results_have_the_state_before_and_after_the_change<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 100));
    let before = run.attributes(file);
    let changed = good(run.write(run.call(), file, 100, b"more", Stability::Durable));
    assert_eq!(changed.before, crate::Before::from(&before));
    assert_eq!((changed.after, changed.after.size_bytes), (run.attributes(file), 104));
    let set = SetAttributes { size_bytes: Some(3), mode: Some(0o640), ..Default::default() };
    let changed_again = good(run.set(run.call(), file, set));
    assert_eq!(changed_again.before, crate::Before::from(&changed.after));
    assert_eq!((changed_again.after, changed_again.after.mode), (run.attributes(file), 0o640));
}

pub(super) fn access_is_no_change<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"abc");
    run.new_in(run.directory("d"), "x", FILE);
    let files = [file, run.root()];
    let before = files.map(|file| run.attributes(file));
    run.get(file, 0, 3);
    run.list(run.root(), Cookie::START, 10);
    for (file, before) in files.into_iter().zip(before) {
        let after = run.attributes(file);
        assert_eq!(crate::Attributes { accessed: before.accessed, ..after }, before);
    }
    assert!(run.attributes(file).accessed > before[0].modified);
}

pub(super) fn attributes_are_set_all_or_none<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"abc");
    let before = run.attributes(file);
    let owner = super::run::user(5, 5);
    let set = SetAttributes { mode: Some(0o777), user: Some(5), size_bytes: Some(1), ..Default::default() };
    assert!(run.set(run.by(&owner), file, set).is_err());
    let too_large = SetAttributes { size_bytes: Some(u64::MAX), ..set };
    let limit_bytes = run.fs().limits().file_bytes;
    assert_eq!(run.set(run.call(), file, too_large).err(), Some(FsError::FileTooLarge { limit_bytes }));
    assert_eq!(run.attributes(file), before);
    let after = good(run.set(run.call(), file, set)).after;
    assert_eq!((after.mode, after.user, after.size_bytes), (0o777, 5, 1));
}

pub(super) fn a_guard_of_another_time_prevents_the_change<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    let before = run.attributes(file);
    let set = SetAttributes { mode: Some(0o600), ..Default::default() };
    let guarded = |guard| run.end(run.fs().set_attributes(run.call(), file, &set, Some(guard)));
    let mismatch = FsError::GuardMismatch { changed: before.changed };
    assert_eq!(guarded(before.changed.next()).err(), Some(mismatch));
    assert_eq!(run.attributes(file), before);
    assert_eq!(guarded(before.changed).map(|changed| changed.after.mode), Ok(0o600));
}

pub(super) fn a_size_belongs_to_regular_files_and_has_a_limit<F: Fixture>(run: &Run<F>) {
    let size = |size| SetAttributes { size_bytes: Some(size), ..Default::default() };
    let fifo = run.new_in(run.root(), "p", NewKind::Fifo);
    assert_eq!(run.set(run.call(), run.root(), size(0)).err(), Some(FsError::IsDirectory));
    assert_eq!(run.set(run.call(), fifo, size(0)).err(), Some(FsError::WrongKind { kind: Kind::Fifo }));
    let (file, limit_bytes) = (run.file("f"), run.fs().limits().file_bytes);
    assert_eq!(run.set(run.call(), file, size(limit_bytes + 1)).err(), Some(FsError::FileTooLarge { limit_bytes }));
    run.resize(file, limit_bytes);
    let attributes = run.attributes(file);
    assert_eq!((attributes.size_bytes, attributes.used_bytes), (limit_bytes, 0));
    assert_eq!(run.get(file, limit_bytes - 10, 100), vec![0; 10]);
}

pub(super) fn setting_nothing_changes_nothing<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    let before = run.attributes(file);
    let changed = good(run.set(run.call(), file, SetAttributes::default()));
    assert_eq!((changed.before.change, changed.after, run.attributes(file)), (before.change, before, before));
}

pub(super) fn times_are_kept_as_set<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    for (seconds, nanoseconds) in [(0, 0), (-5, 1), (1 << 33, 999_999_999)] {
        let time = Timestamp::new(seconds, nanoseconds).unwrap_or_default();
        let to = Some(SetTime::To(time));
        let set = SetAttributes { accessed: to, modified: to, ..Default::default() };
        let after = good(run.set(run.call(), file, set)).after;
        assert_eq!((after.accessed, after.modified), (time, time));
    }
    let (call, now) = (run.call(), Some(SetTime::Now));
    let set = SetAttributes { accessed: now, modified: now, ..Default::default() };
    let after = good(run.set(call, file, set)).after;
    assert_eq!((after.accessed, after.modified), (call.now, call.now));
}
