//! Snapshots, schedules and the trash.

use super::Array;

#[test]
fn snapshots_of_a_group_a_tree_and_a_way_back() {
    let array = Array::start();
    for volume in ["data", "log"] {
        array.ok(&["volume", "create", volume, "--size", "1G"]);
    }
    let group = ["snapshot", "create", "--group", "data", "log", "--name", "nightly"];
    assert_eq!(
        array.ok(&[&group[..], &["--columns", "volume,name"]].concat()),
        "VOLUME  NAME\ndata    nightly\nlog     nightly\n"
    );
    for again in
        [&group[..], &["snapshot", "create", "data", "nightly"], &["snapshot", "create", "data", "nightly", "-q"]]
    {
        let refused = array.run(again);
        assert!(refused.status == 4 && refused.err.contains("snapshot data@nightly exists already"), "{refused:?}");
    }
    array.ok(&["volume", "clone", "data@nightly", "test"]);
    assert_eq!(
        array.ok(&["snapshot", "tree", "data"]),
        "NAME            KIND      MAPPED  UNIQUE  DEPENDENTS\n\
         data            volume       0 B     0 B           1\n  \
           data@nightly  snapshot     0 B     0 B           1\n    \
             test        volume       0 B     0 B           0\n"
    );
    let back = array.run(&["volume", "rollback", "data", "nightly", "--keep", "before", "--yes"]);
    assert_eq!((back.status, back.err.as_str()), (0, "volume data is as it was in snapshot nightly\n"), "{back:?}");
    assert_eq!(array.ok(&["snapshot", "list", "data", "-o", "name"]), "data@before\ndata@nightly\n");
    array.ok(&["access", "grant", "data", "--any"]);
    let refused = array.run(&["volume", "rollback", "data", "nightly", "--yes"]);
    assert_eq!(refused.status, 4);
    assert!(refused.err.ends_with("windlass volume rollback data nightly --force\n"), "{}", refused.err);
    array.ok(&["volume", "rollback", "data", "nightly", "--force", "--yes"]);
    for words in [
        &["snapshot", "create", "data"][..],
        &["snapshot", "create", "--group", "data"],
        &["snapshot", "create", "data", "x", "--group", "log", "--name", "y"],
    ] {
        assert_eq!(array.run(words).status, 2, "{words:?}");
    }
}

#[test]
fn what_is_deleted_comes_back_from_the_trash() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["access", "grant", "v1", "--any"]);
    let deleted = array.run(&["volume", "delete", "v1", "--with-snapshots", "--revoke", "--yes"]);
    assert_eq!(deleted.status, 0, "{deleted:?}");
    assert!(deleted.err.starts_with("volume v1 deleted; until 20"), "{}", deleted.err);
    assert!(deleted.err.ends_with(":  windlass trash restore v1\n"), "{}", deleted.err);
    let listed = array.ok(&["trash", "list", "--no-headers", "--columns", "name,kind,snapshots,grants"]);
    assert_eq!(listed.split_whitespace().collect::<Vec<_>>(), ["v1", "volume", "1", "1"]);
    let restored = array.run(&["volume", "restore", "v1", "--name", "v2", "--grants"]);
    assert_eq!(restored.err, "volume v2 restored with 1 snapshot\n1 grant made again\n");
    assert_eq!(array.ok(&["access", "list", "--no-headers", "--columns", "volume,host"]).split_whitespace().count(), 2);
    array.ok(&["snapshot", "delete", "v2@monday", "--yes"]);
    assert_eq!(array.run(&["trash", "empty", "--all"]).status, 2);
    let emptied = array.run(&["trash", "empty", "--all", "--yes"]);
    assert_eq!((emptied.status, emptied.err.as_str()), (0, "v2@monday deleted for good\n"));
    let set = array.run(&["pool", "set", "p0", "--trash", "off"]);
    assert!(set.err.ends_with("the trash keeps what is deleted: off\n"), "{}", set.err);
    array.ok(&["access", "revoke", "v2", "--all", "--yes"]);
    assert_eq!(array.run(&["volume", "delete", "v2", "--yes"]).err, "volume v2 deleted\n");
    assert_eq!(array.run(&["trash", "restore", "v2"]).status, 3);
}

#[test]
fn schedules_are_managed() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["volume", "set", "v1", "--label", "tier=gold"]);
    let create =
        ["schedule", "create", "gold", "--every", "15m", "--keep", "hourly=24,daily=30", "--label", "tier=gold"];
    array.ok(&create);
    assert_eq!(array.run(&create).status, 4);
    assert_eq!(array.run(&["schedule", "create", "x", "--every", "15m", "--daily", "02:00"]).status, 2);
    let columns = ["--no-headers", "--columns", "when,zone,members,keep"];
    let listed = array.ok(&[&["schedule", "list"], &columns[..]].concat());
    assert_eq!(listed.split_whitespace().collect::<Vec<_>>().join(" "), "every 15m UTC 1 24 hourly, 30 daily, last 3");
    array.ok(&["schedule", "run", "gold"]);
    let name = array.ok(&["snapshot", "list", "-o", "name"]);
    let name = name.trim();
    assert!(name.starts_with("v1@gold.20") && name.ends_with('Z'), "{name}");
    array.ok(&["snapshot", "pin", name]);
    assert_eq!(array.run(&["snapshot", "lock", name, "--until", "30d"]).status, 2, "a lock cannot be undone");
    array.ok(&["snapshot", "lock", name, "--until", "30d", "--yes"]);
    let refused = array.run(&["snapshot", "delete", name, "--now", "--yes"]);
    assert_eq!(refused.status, 4);
    assert!(refused.err.contains("is locked until 20") && refused.err.contains("(code: locked)"), "{}", refused.err);
    array.ok(&["schedule", "set", "gold", "--weekly", "sun@03:00", "--zone", "Europe/Berlin", "--pause", "on"]);
    assert!(array.ok(&["schedule", "show", "gold"]).contains("paused"));
    array.ok(&["schedule", "delete", "gold", "--yes"]);
    assert_eq!(array.ok(&["snapshot", "list", "-o", "name"]).trim(), name);
}
