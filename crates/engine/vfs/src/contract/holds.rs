//! Rules of holds: files that exist without a name.

use super::run::{FILE, Run, bytes, good};
use super::{Fixture, Restart};
use crate::{Exclusive, FileId, FileSystem, FsError, Kind, NewKind, SetAttributes};

fn hold<F: Fixture>(run: &Run<F>, file: FileId) -> Result<u32, FsError> {
    run.end(run.fs().hold(file)).map(|attributes| attributes.links)
}

fn release<F: Fixture>(run: &Run<F>, file: FileId) -> Result<(), FsError> {
    run.end(run.fs().release(file))
}

pub(super) fn a_held_file_outlives_its_names<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 9000));
    assert_eq!(hold(run, file), Ok(1));
    let removed = good(run.remove(run.root(), "f"));
    assert_eq!((removed.file.links, run.attributes(file).links), (0, 0));
    assert_eq!(run.find(run.root(), "f"), Err(FsError::NotFound));
    run.put(file, 9000, b"more");
    assert!(run.get(file, 0, 20_000) == [bytes(1, 9000), b"more".to_vec()].concat());
    assert_eq!(run.link(file, run.root(), "again"), Err(FsError::NotFound));
    let replaced = run.file("g");
    good(hold(run, replaced).map(|_| ()));
    run.file("h");
    good(run.rename((run.root(), "h"), (run.root(), "g")));
    assert_eq!(run.attributes(replaced).links, 0);
}

pub(super) fn the_last_release_deletes_a_file_without_names<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 512 << 10));
    assert_eq!((hold(run, file), hold(run, file)), (Ok(1), Ok(1)));
    good(run.remove(run.root(), "f"));
    good(release(run, file));
    let free = run.free();
    assert_eq!(run.attributes(file).links, 0);
    good(release(run, file));
    assert_eq!(run.end(run.fs().attributes(file)), Err(FsError::Stale));
    assert!(run.free() >= free + (512 << 10));
    assert_eq!((release(run, file), hold(run, file)), (Err(FsError::Stale), Err(FsError::Stale)));
    // With a name it stays.
    let named = run.file("g");
    assert_eq!((hold(run, named), release(run, named)), (Ok(1), Ok(())));
    assert_eq!((run.attributes(named).links, release(run, named)), (1, Err(FsError::Stale)));
}

pub(super) fn a_creation_can_hold_its_file<F: Fixture>(run: &Run<F>) {
    let what = || NewKind::File { exclusive: Exclusive::No, hold: true };
    let create = || run.create(run.call(), run.root(), "f", what(), SetAttributes::default());
    let file = good(create()).file.file;
    assert!(!good(create()).created);
    good(run.remove(run.root(), "f"));
    good(release(run, file));
    assert_eq!(run.attributes(file).links, 0);
    good(release(run, file));
    assert_eq!(run.end(run.fs().attributes(file)), Err(FsError::Stale));
    let unheld = run.new_in(run.root(), "f", FILE);
    good(run.remove(run.root(), "f"));
    assert_eq!(run.end(run.fs().attributes(unheld)), Err(FsError::Stale));
}

pub(super) fn a_file_without_names_outlives_a_restart_until_it_is_dropped<F: Fixture>(run: &Run<F>) {
    for how in [Restart::Clean, Restart::Crash] {
        let (claimed, unclaimed) = (run.file_with("a", b"claimed"), run.file_with("b", b"unclaimed"));
        for (file, text) in [(claimed, "a"), (unclaimed, "b")] {
            good(hold(run, file).map(|_| ()));
            good(run.remove(run.root(), text));
        }
        run.restart(how);
        assert_eq!(release(run, claimed), Err(FsError::Stale), "holds end with the run");
        assert_eq!(hold(run, claimed), Ok(0));
        assert_eq!(run.end(run.fs().drop_unheld()), Ok(1));
        assert_eq!(run.end(run.fs().attributes(unclaimed)), Err(FsError::Stale));
        assert_eq!(run.get(claimed, 0, 99), b"claimed");
        good(release(run, claimed));
        assert_eq!(run.end(run.fs().attributes(claimed)), Err(FsError::Stale));
        assert_eq!(run.end(run.fs().drop_unheld()), Ok(0));
    }
}

pub(super) fn only_regular_files_are_held<F: Fixture>(run: &Run<F>) {
    let fifo = run.new_in(run.root(), "p", NewKind::Fifo);
    assert_eq!(hold(run, run.root()), Err(FsError::IsDirectory));
    assert_eq!(hold(run, fifo), Err(FsError::WrongKind { kind: Kind::Fifo }));
}
