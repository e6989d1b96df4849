//! Rules of durability, with crashes between two calls.

use super::run::{FILE, Run, bytes, good};
use super::{Fixture, Restart};
use crate::{Exclusive, FileSystem, FsError, NewKind, SetAttributes, Stability};

pub(super) fn the_write_verifier_changes_with_each_start_only<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    let mut seen = Vec::new();
    for how in [Restart::Clean, Restart::Crash, Restart::Clean] {
        let verifier = run.fs().write_verifier();
        good(run.write(run.call(), file, 0, b"x", Stability::Unstable));
        good(run.end(run.fs().commit(file)));
        assert_eq!(run.fs().write_verifier(), verifier);
        assert!(!seen.contains(&verifier), "{verifier:?} again");
        seen.push(verifier);
        run.restart(how);
    }
    assert!(!seen.contains(&run.fs().write_verifier()));
}

pub(super) fn a_durable_change_outlives_a_crash<F: Fixture>(run: &Run<F>) {
    let (fs, data) = (run.fs(), bytes(1, 9000));
    let file = run.file("f");
    good(run.write(run.call(), file, 0, &data, Stability::Durable));
    run.restart(Restart::Crash);
    assert!(run.get(file, 0, 20_000) == data);
    let directory = run.directory("d");
    run.restart(Restart::Crash);
    good(run.rename((run.root(), "f"), (directory, "g")));
    run.restart(Restart::Crash);
    assert_eq!((run.find(directory, "g"), run.find(run.root(), "f")), (Ok(file), Err(FsError::NotFound)));
    good(run.set(run.call(), file, SetAttributes { mode: Some(0o600), ..Default::default() }));
    run.restart(Restart::Crash);
    assert_eq!(run.attributes(file).mode, 0o600);
    let clone = run.new_in(directory, "c", FILE);
    good(run.clone_range((file, 0, None), (clone, 0)));
    run.restart(Restart::Crash);
    assert!(run.get(clone, 0, 20_000) == data);
    good(run.end(run.fs().deallocate(run.call(), clone, 0, 8192)));
    run.restart(Restart::Crash);
    assert_eq!(run.get(clone, 0, 8192), vec![0; 8192]);
    good(run.remove(directory, "c"));
    run.restart(Restart::Crash);
    assert_eq!((run.find(directory, "c"), fs.id()), (Err(FsError::NotFound), run.fs().id()));
}

pub(super) fn a_commit_makes_unstable_writes_durable<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    for (at, mark) in [(0, 1), (20_000, 2), (9_000, 3)] {
        good(run.write(run.call(), file, at, &bytes(mark, 9000), Stability::Unstable));
    }
    let attributes = good(run.end(run.fs().commit(file)));
    run.restart(Restart::Crash);
    assert_eq!(run.attributes(file).size_bytes, attributes.size_bytes);
    for (at, mark) in [(0, 1), (20_000, 2), (9_000, 3)] {
        assert!(run.get(file, at, 9000) == bytes(mark, 9000), "write {mark}");
    }
}

pub(super) fn a_durable_change_makes_earlier_ones_durable<F: Fixture>(run: &Run<F>) {
    let (file, other) = (run.file("f"), run.file("g"));
    good(run.write(run.call(), file, 0, &bytes(1, 9000), Stability::Unstable));
    run.put(other, 0, b"later");
    run.restart(Restart::Crash);
    assert_eq!(run.get(other, 0, 9), b"later");
    assert!(run.get(file, 0, 20_000) == bytes(1, 9000));
}

pub(super) fn change_values_of_lost_changes_are_not_given_again<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"base");
    for round in 0..20 {
        let lost = good(run.write(run.call(), file, 0, &bytes(round, 4), Stability::Unstable)).after;
        run.restart(Restart::Crash);
        if run.get(file, 0, 4) == bytes(round, 4) {
            continue; // it was durable all the same
        }
        let next = good(run.write(run.call(), file, 0, &bytes(round + 100, 4), Stability::Durable)).after;
        assert!(next.change > lost.change, "{next:?} after {lost:?}");
    }
}

pub(super) fn an_exclusive_creation_is_repeated_after_a_restart<F: Fixture>(run: &Run<F>) {
    let create = |verifier| {
        let what = NewKind::File { exclusive: Exclusive::Verifier(verifier), hold: false };
        run.create(run.call(), run.root(), "f", what, SetAttributes::default())
    };
    let file = good(create(5)).file.file;
    run.restart(Restart::Crash);
    let again = good(create(5));
    assert_eq!((again.created, again.file.file), (false, file));
    assert!(matches!(create(6), Err(FsError::Exists { .. })));
}

pub(super) fn directories_have_no_commit<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    assert_eq!(run.end(run.fs().commit(run.root())).err(), Some(FsError::IsDirectory));
    assert_eq!(run.end(run.fs().commit(file)), Ok(run.attributes(file)));
}
