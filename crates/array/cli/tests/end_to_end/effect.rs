//! `--dry-run` of every command that has it, and the preview of a schedule.

use super::Array;

#[test]
fn a_dry_run_shows_what_breaks_and_changes_nothing() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["host", "create", "esx01", "--iqn", super::ESX01]);
    array.ok(&["access", "grant", "v1", "--host", "esx01"]);
    let delete = ["volume", "delete", "v1", "--dry-run"];
    let refused = array.run(&delete);
    assert_eq!(refused.status, 4, "as the deletion itself: {refused:?}");
    assert!(refused.out.starts_with("delete volume v1: refused\n"), "{}", refused.out);
    assert!(refused.err.contains("(code: in-use)") && refused.err.contains("host esx01, LUN 0"), "{}", refused.err);
    let whole = [&delete[..], &["--revoke", "--with-snapshots"]].concat();
    let possible = array.run(&whole);
    assert_eq!(possible.status, 0, "no terminal and no --yes is needed: {possible:?}");
    assert!(possible.out.starts_with("delete volume v1: possible; it frees 0 B\n"), "{}", possible.out);
    for line in ["snapshot  v1@monday", "access    host esx01, LUN 0", "session "] {
        assert!(possible.out.contains(line), "{line}: {}", possible.out);
    }
    assert!(possible.err.contains("(code: kept-in-trash)"), "{}", possible.err);
    let json: Vec<api::Effect> = serde_json::from_str(&array.ok(&[&whole[..], &["-o", "json"]].concat())).unwrap();
    assert!(json.len() == 1 && json[0].allowed && json[0].breaks.len() == 3, "{json:?}");
    assert_eq!(array.ok(&["volume", "list", "-o", "name"]), "v1\n");
}

#[test]
fn commands_that_destroy_have_dry_runs() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["volume", "create", "gone", "--size", "1G"]);
    array.ok(&["snapshot", "create", "v1", "monday"]);
    array.ok(&["host", "create", "esx02", "--iqn", "iqn.2026-01.org.example:esx02"]);
    array.ok(&["host-group", "create", "g", "esx02"]);
    array.ok(&["share", "create", "s1"]);
    array.ok(&["access", "grant", "v1", "--group", "g"]);
    array.ok(&["access", "grant", "s1", "--any"]);
    array.ok(&["schedule", "create", "nightly", "--daily", "02:00", "--volumes", "v1"]);
    array.ok(&["volume", "delete", "gone", "--yes"]);
    let possible = [
        vec!["volume", "rollback", "v1", "monday", "--force"],
        vec!["volume", "reclaim", "v1"],
        vec!["volume", "reclaim", "--all"],
        vec!["snapshot", "delete", "v1@monday"],
        vec!["snapshot", "delete", "v1", "monday", "--now"],
        vec!["access", "revoke", "v1", "--group", "g"],
        vec!["access", "revoke", "v1", "--all"],
        vec!["access", "revoke", "s1", "--any"],
        vec!["host-group", "set", "g", "--remove", "esx02"],
        vec!["schedule", "delete", "nightly"],
        vec!["session", "drop", "7"],
        vec!["trash", "empty", "gone"],
        vec!["trash", "empty", "--all"],
    ];
    for words in possible {
        let ran = array.run(&[&words[..], &["--dry-run"]].concat());
        assert!(ran.status == 0 && ran.out.contains(": possible"), "{words:?}: {ran:?}");
    }
    for words in [vec!["host-group", "delete", "g"], vec!["share", "delete", "s1"], vec!["host", "delete", "esx02"]] {
        let ran = array.run(&[&words[..], &["--dry-run"]].concat());
        assert!(ran.status == 4 && ran.out.contains(": refused"), "{words:?}: {ran:?}");
    }
    assert_eq!(array.run(&["volume", "delete", "none", "--dry-run"]).status, 3);
    assert_eq!(array.ok(&["trash", "list", "-o", "name"]), "gone\n");
    assert_eq!(array.ok(&["access", "list", "-o", "name"]).lines().count(), 2);
}

#[test]
fn the_preview_of_a_schedule_shows_its_next_runs() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["schedule", "create", "gold", "--every", "15m", "--volumes", "v1"]);
    let run = array.run(&["schedule", "preview", "--weekly", "sun@03:00", "--zone", "Europe/Berlin"]);
    assert_eq!(run.out.lines().filter(|line| line.starts_with("next  20")).count(), 5, "{run:?}");
    assert!(run.err.contains("0 snapshots stay, 0 would be removed"), "{}", run.err);
    assert_eq!(array.run(&["schedule", "preview"]).status, 2);
    assert_eq!(array.run(&["schedule", "preview", "none", "--keep", "daily=7"]).status, 3);
    assert_eq!(array.ok(&["schedule", "preview", "gold", "--keep", "daily=7"]).lines().count(), 5);
}
