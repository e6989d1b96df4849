//! Rules of snapshots and roll-back. Administration takes them; here is what callers see of them.

use super::Fixture;
use super::run::{FILE, Run, bytes, good, name};
use crate::{Expect, FileSystem, FsError, New, Place, Removes, SetAttributes, SetXattr, Source, Stability, XattrName};

pub(super) fn a_snapshot_keeps_what_was_there<F: Fixture>(run: &Run<F>) {
    let directory = run.directory("d");
    let file = run.new_in(directory, "f", FILE);
    run.put(file, 0, &bytes(1, 9000));
    let (attributes, cookies) = (run.attributes(file), run.list_all(directory, 9));
    let snapshot = good(run.snapshot());
    run.put(file, 0, &bytes(2, 9000));
    run.new_in(directory, "g", FILE);
    good(run.rename((directory, "f"), (run.root(), "f")));
    assert!(snapshot.read_only() && !run.fs().read_only() && snapshot.id() != run.fs().id());
    assert!(run.get_of(&snapshot, file, 0, 20_000) == bytes(1, 9000));
    assert_eq!(run.end(snapshot.attributes(file)).map(|file| file.change), Ok(attributes.change));
    let found = good(run.end(snapshot.lookup(run.call(), directory, &name("f"))));
    assert_eq!((found.file.file, found.file.modified), (file, attributes.modified));
    let listing = good(run.end(snapshot.read_directory(run.call(), directory, crate::Cookie::START, 9, false)));
    assert_eq!(listing.entries, cookies);
}

pub(super) fn a_snapshot_refuses_every_change<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 9000));
    let fs = good(run.snapshot());
    let (f, g, x) = (name("f"), name("g"), good(XattrName::try_from("x").map_err(FsError::from)));
    let (old, new) = (Place { directory: fs.root(), name: &f }, Place { directory: fs.root(), name: &g });
    let refused = |what: &str, error: Option<FsError>| assert_eq!(error, Some(FsError::ReadOnly), "{what}");
    let call = run.call();
    let file_new = New { what: FILE, attributes: SetAttributes::default() };
    refused("create", run.end(fs.create(call, fs.root(), &g, &file_new)).err());
    refused("link", run.end(fs.link(call, file, new)).err());
    refused("remove", run.end(fs.remove(call, old, Removes::Anything, Expect::Anything)).err());
    refused("rename", run.end(fs.rename(call, old, new, Expect::Anything)).err());
    let data = || ::bytes::Bytes::from_static(b"x");
    for empty in [false, true] {
        let data = if empty { ::bytes::Bytes::new() } else { data() };
        refused("write", run.end(fs.write(call, file, 0, data.into(), Stability::Durable)).err());
    }
    refused("zero", run.end(fs.zero(call, file, 0, 1)).err());
    refused("allocate", run.end(fs.allocate(call, file, 0, 1)).err());
    refused("deallocate", run.end(fs.deallocate(call, file, 0, 1)).err());
    let mode = SetAttributes { mode: Some(0), ..Default::default() };
    refused("set", run.end(fs.set_attributes(call, file, &mode, None)).err());
    let source = || Source { file_system: &fs, file, offset_bytes: 0, length_bytes: None };
    refused("clone", run.end(fs.clone_range(call, source(), file, 1 << 20)).err());
    refused("copy", run.end(fs.copy_range(call, source(), file, 1 << 20)).err());
    refused("set_xattr", run.end(fs.set_xattr(call, file, &x, data(), SetXattr::Either)).err());
    refused("remove_xattr", run.end(fs.remove_xattr(call, file, &x)).err());
    // A snapshot can be the source of a clone.
    let clone = run.file("c");
    good(run.end(run.fs().clone_range(call, source(), clone, 0)));
    assert!(run.get(clone, 0, 20_000) == bytes(1, 9000));
}

pub(super) fn a_roll_back_gives_no_old_value_to_other_content<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 9000));
    let snapshot = good(run.snapshot());
    run.put(file, 0, &bytes(2, 9000));
    let (changed, later) = (run.attributes(file), run.file("later"));
    run.roll_back(&snapshot);
    let after = run.attributes(file);
    assert!(after.change > changed.change && after.changed > changed.changed, "{after:?} after {changed:?}");
    assert!(run.get(file, 0, 20_000) == bytes(1, 9000));
    assert_eq!(run.end(run.fs().attributes(later)), Err(FsError::Stale));
    let new = run.file("new");
    assert!(new != later, "the number of a file that is gone is given again");
    run.put(new, 0, b"x");
    assert!(run.get_of(&snapshot, file, 0, 20_000) == bytes(1, 9000));
}
