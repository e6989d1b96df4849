//! Volumes: their life, what a deletion asks, and roll-backs.

use super::{Array, ESX01};

#[test]
fn a_day_with_volumes() {
    let array = Array::start();
    assert_eq!(
        array.ok(&["volume", "create", "tmpl-win", "--size", "100G"]),
        "NAME         SIZE  MAPPED  UNIQUE  SNAPS  THIN  LUNS\n\
         tmpl-win  100 GiB     0 B     0 B    0 B  100%  –\n"
    );
    let again = array.run(&["volume", "create", "tmpl-win", "--size", "100G"]);
    assert_eq!(
        (again.status, again.err.as_str()),
        (0, "note: volume tmpl-win already existed, with the same parameters\n")
    );
    let other = array.run(&["volume", "create", "tmpl-win", "--size", "50G"]);
    assert_eq!(other.status, 4);
    assert_eq!(
        other.err,
        "error: volume tmpl-win exists already with 100 GiB (code: exists)\n\
         help: choose another name, or use the existing volume:  windlass volume show tmpl-win\n"
    );

    array.ok(&["snapshot", "create", "tmpl-win", "monday"]);
    array.ok(&["volume", "clone", "tmpl-win@monday", "win-dc1"]);
    let again = array.run(&["volume", "clone", "tmpl-win@monday", "win-dc1"]);
    assert_eq!(again.status, 4, "{again:?}");
    assert!(again.err.starts_with("error: volume win-dc1 exists already, created 20"), "{}", again.err);
    array.ok(&["volume", "grow", "win-dc1", "--size", "1.5TiB"]);
    array.ok(&["volume", "set", "win-dc1", "--write-cache", "on"]);
    array.ok(&["host", "create", "esx01", "--iqn", ESX01]);
    let granted = array.ok(&["access", "grant", "win-dc1", "--host", "esx01", "--columns", "volume,host,lun"]);
    assert_eq!(granted, "VOLUME   HOST   LUN\nwin-dc1  esx01    0\n");
    assert_eq!(
        array.ok(&["volumes", "list"]),
        "NAME         SIZE  MAPPED  UNIQUE  SNAPS  THIN  LUNS\n\
         tmpl-win  100 GiB     0 B     0 B    0 B  100%  –\n\
         win-dc1   1.5 TiB     0 B     0 B    0 B  100%  esx01:0\n"
    );
    assert_eq!(array.ok(&["volume", "list", "-o", "name"]), "tmpl-win\nwin-dc1\n");
    let csv = array.ok(&["volume", "list", "-o", "csv", "--columns", "name,size,cache,source"]);
    assert_eq!(csv, "name,size,cache,source\ntmpl-win,107374182400,off,\nwin-dc1,1649267441664,on,tmpl-win@monday\n");
    let json = array.ok(&["volume", "show", "win-dc1", "-o", "json"]);
    for part in [
        "\"size_bytes\": 1649267441664",
        "\"lun\": 0",
        "\"host\": \"esx01\"",
        "\"iscsi_url\": \"iscsi://127.0.0.1:3260/iqn.",
    ] {
        assert!(json.contains(part), "{json}");
    }
    let yaml = array.ok(&["volume", "show", "win-dc1", "-o", "yaml"]);
    // The same fields in the same order, and the same numbers.
    let fields = |text: &str, end: &str| -> Vec<String> {
        let name = |line: &str| Some(line.trim_start_matches([' ', '-', '"']).split_once(end)?.0.to_owned());
        text.lines().filter_map(name).collect()
    };
    assert_eq!(fields(&yaml, ":"), fields(&json, "\":"), "{yaml}");
    assert!(yaml.contains("\nsize_bytes: 1649267441664\n") && yaml.contains("\nwrite_cache: true\n"), "{yaml}");

    let refused = array.run(&["volume", "delete", "win-dc1", "--yes"]);
    assert_eq!(refused.status, 4);
    assert_eq!(
        refused.err,
        "error: volume win-dc1 is in use (code: in-use)\n  \
           access    host esx01, LUN 0\n  \
           session   iqn.1998-01.com.vmware:esx01 from 10.0.0.11, no I/O yet (id 7)\n\
         help: revoke access first:  windlass access revoke win-dc1 --all\n"
    );
    let revoked = array.run(&["access", "revoke", "win-dc1", "--all", "--yes"]);
    assert_eq!((revoked.status, revoked.err.as_str()), (0, "access of everybody to volume win-dc1 revoked\n"));
    array.ok(&["volume", "delete", "win-dc1", "-q", "--yes"]);
    let kept = array.run(&["volume", "delete", "tmpl-win", "--yes"]);
    assert!(
        kept.err.starts_with("error: volume tmpl-win has 1 snapshot (code: has-snapshots)\n  snapshot  monday of 20")
    );
    array.ok(&["snapshot", "delete", "tmpl-win", "monday", "--yes"]);
    array.ok(&["volume", "delete", "tmpl-win", "--yes"]);
    assert_eq!(array.ok(&["volume", "list", "-o", "yaml"]), "[]\n");
    assert_eq!(array.ok(&["volume", "list", "-o", "json"]), "[]\n");
}

/// Regression: without a terminal (`</dev/null`, cron, ssh) these commands deleted at once, as with
/// `--yes`.
#[test]
fn what_cannot_be_undone_needs_a_confirmation() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["access", "grant", "v1", "--any"]);
    array.ok(&["host", "create", "h", "--iqn", "iqn.2026-01.org.example:h"]);
    array.ok(&["host-group", "create", "g", "h"]);
    for words in [
        &["volume", "delete", "v1"] as &[&str],
        &["volume", "rollback", "v1", "monday"],
        &["snapshot", "delete", "v1", "monday"],
        &["access", "revoke", "v1", "--any"],
        &["host", "delete", "h"],
        &["session", "drop", "7"],
        &["host-group", "set", "g", "--remove", "h"],
    ] {
        let refused = array.run(words);
        assert_eq!(refused.status, 2, "{words:?}: {refused:?}");
        assert!(refused.err.ends_with("(code: unconfirmed)\nhelp: confirm with  --yes\n"), "{}", refused.err);
    }
    // Regression: a misspelt name was noticed only after the question.
    for words in [
        &["volume", "delete", "nosuch"] as &[&str],
        &["snapshot", "delete", "v1", "nosuch"],
        &["host", "delete", "nosuch"],
        &["host-group", "delete", "nosuch"],
        &["volume", "rollback", "nosuch", "monday"],
        &["volume", "rollback", "v1", "nosuch"],
        &["access", "revoke", "nosuch", "--any"],
        &["access", "revoke", "nosuch", "--all"],
        &["access", "revoke", "v1", "--host", "nosuch"],
        &["access", "revoke", "v1", "--host", "h"],
        &["access", "revoke", "v1", "--group", "nosuch"],
        &["session", "drop", "99"],
        &["host-group", "set", "nosuch", "--remove", "h"],
        &["host-group", "set", "g", "--remove", "h,nosuch"],
    ] {
        let refused = array.run(words);
        assert_eq!(refused.status, 3, "{words:?}: {refused:?}");
        assert!(!refused.err.contains('?'), "{}", refused.err);
    }
    for (noun, name) in [("volume", "v1"), ("snapshot", "v1@monday"), ("host", "h"), ("session", "7")] {
        assert_eq!(array.ok(&[noun, "list", "-o", "name"]).lines().filter(|line| *line == name).count(), 1, "{noun}");
    }
    assert!(array.ok(&["access", "list"]).contains("v1"));
}

/// Regression: a rollback shrank a volume that had grown since the snapshot without a word.
#[test]
fn a_rollback_states_the_sizes() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["volume", "grow", "v1", "--size", "2G"]);
    let id = array.ok(&["snapshot", "list", "v1", "-o", "csv", "--columns", "id", "--no-headers"]);
    for snapshot in ["monday", "v1@monday", id.trim()] {
        let asked = array.run(&["volume", "rollback", "v1", snapshot]);
        assert!(asked.err.contains("; it shrinks from 2 GiB to 1 GiB; what it has now is lost"), "{}", asked.err);
    }
    let rolled = array.run(&["volume", "rollback", "v1", "monday", "--yes"]);
    let warning = "warning: volume v1 shrank from 2 GiB to 1 GiB, its size in snapshot monday (code: size-changed)";
    assert!(rolled.status == 0 && rolled.err.contains(warning), "{rolled:?}");
    let asked = array.run(&["volume", "rollback", "v1", "monday"]);
    assert!(!asked.err.contains("GiB"), "{}", asked.err);
}

#[test]
fn a_volume_is_created_in_a_pool_by_name() {
    let array = Array::start();
    let pool = array.ok(&["pool", "list", "-o", "name"]);
    array.ok(&["volume", "create", "v1", "--size", "1G", "--pool", pool.trim()]);
    assert_eq!(array.ok(&["volume", "list", "--columns", "name,pool"]), format!("NAME  POOL\nv1    {pool}"));
    let refused = array.run(&["volume", "create", "v2", "--size", "1G", "--pool", "other"]);
    assert_eq!(refused.status, 3);
    assert!(refused.err.ends_with("help: list the pools:  windlass pool list\n"), "{}", refused.err);
}

/// A long list comes in parts of 500.
#[test]
fn a_long_list_is_complete() {
    let array = Array::start();
    for at in 0..501 {
        array.ok(&["host", "create", &format!("h{at:03}"), "--iqn", &format!("iqn.2026-01.org.example:h{at}")]);
    }
    let shown = array.ok(&["host", "list", "-o", "name"]);
    let expected: String = (0..501).map(|at| format!("h{at:03}\n")).collect();
    assert_eq!(shown, expected);
}
