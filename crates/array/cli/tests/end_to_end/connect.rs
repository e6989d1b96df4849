//! Plans for hosts, their undo, following a host, and login attempts.

use super::*;
use serde_json::Value;

#[test]
fn a_plan_is_text_for_people_a_script_and_json() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    array.ok(&["host", "create", "esx01", "--iqn", ESX01, "--chap-user", "esx01"]);
    let plan = array.run(&["connect", "esxi", "esx01", "--volume", "v1", "--adapter", "vmhba64"]);
    assert_eq!(plan.status, 0, "{plan:?}");
    assert!(plan.err.contains("windlass access grant v1 --host esx01"), "{}", plan.err);
    assert!(plan.err.contains("replace CHAP-SECRET: CHAP secret of the host"), "{}", plan.err);
    let add = "esxcli iscsi adapter discovery sendtarget add -A vmhba64 -a 127.0.0.1:3260";
    assert!(plan.out.lines().any(|line| line == add), "{}", plan.out);
    array.ok(&["access", "grant", "v1", "--host", "esx01"]);
    let script = array.ok(&["connect", "esxi", "esx01", "--volume", "v1", "--adapter", "vmhba64", "-o", "sh"]);
    assert!(script.lines().all(|line| !line.starts_with('#')) && script.contains(add), "{script}");
    // What can be left out is left out: a script that nobody reads changes no name and makes no file system.
    let script = array.run(&["connect", "linux", "esx01", "--volume", "v1", "-o", "sh"]);
    assert!(!script.out.contains("initiatorname.iscsi") && !script.out.contains("mkfs"), "{}", script.out);
    assert!(script.out.contains("iscsiadm -m session --rescan"), "{}", script.out);
    assert!(script.err.contains("left out: Name of the initiator, File system, "), "{}", script.err);
    // The undo of one volume leaves the sessions, which are those of other volumes too.
    let undo = array.run(&["connect", "esxi", "esx01", "--volume", "v1", "--undo"]);
    let off = "esxcli storage core device set -d naa.";
    assert!(undo.out.lines().any(|line| line.starts_with(off) && line.ends_with(" --state=off")), "{undo:?}");
    assert!(
        !undo.out.contains("sendtarget") && undo.err.contains("windlass access revoke v1 --host esx01"),
        "{undo:?}"
    );
    array.ok(&["volume", "create", "v2", "--size", "1G"]);
    array.ok(&["access", "grant", "v2", "--host", "esx01"]);
    let host = array.run(&["connect", "esxi", "esx01", "--volume", "v1", "--undo-host"]);
    assert!(host.out.contains("sendtarget remove -A ADAPTER -a 127.0.0.1:3260"), "{host:?}");
    assert!(!host.out.contains(" add ") && !host.out.contains("--state=off"), "{host:?}");
    assert!(host.err.contains("it may use 1 other volume, which it loses too"), "{host:?}");
    assert!(host.err.contains("replace ADAPTER: ") && !host.err.contains("CHAP-SECRET"), "{host:?}");
    let json: Value =
        serde_json::from_str(&array.ok(&["connect", "kubernetes", "esx01", "--volume", "v1", "-o", "json"])).unwrap();
    assert_eq!((&json["facts"]["lun"], &json["facts"]["chap_user"]), (&0.into(), &"esx01".into()));
    assert_eq!(json["warnings"], Value::Array(Vec::new()));
    // The content of a file is written by the script.
    let files = array.ok(&["connect", "libvirt", "esx01", "--volume", "v1", "-o", "sh"]);
    assert!(files.contains("cat >windlass-v1-disk.xml <<'END'\n<disk type='network'"), "{files}");

    assert!(!files.contains("qemu-system"), "{files}");
    for (words, status, text) in [
        (["connect", "beos", "esx01", "--volume", "v1"].as_slice(), 2, "beos"),
        (&["connect", "esxi", "esx01"], 2, "--volume"),
        (&["connect", "esxi", "esx01", "--volume", "nosuch"], 3, "nosuch"),
        (&["connect", "linux", "esx01", "--volume", "v1", "--adapter", "vmhba64"], 2, "adapter is for system esxi"),
        (&["connect", "esxi", "esx01", "--share", "s1"], 2, "no plans with which VMware ESXi uses a share"),
        (&["connect", "linux", "esx01", "--share", "s1", "--undo-host"], 2, "--undo-host"),
        (&["volume", "list", "-o", "sh"], 2, "-o sh is for windlass connect"),
    ] {
        let refused = array.run(words);
        assert!(refused.status == status && refused.err.contains(text), "{words:?}: {refused:?}");
    }
}

#[test]
fn a_host_is_followed_and_its_attempts_are_listed() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    let stranger = array.ok(&["session", "logins", "--filter", "refused=true"]);
    assert!(
        stranger.contains("iqn.2026-01.org.example:stranger") && stranger.contains("unknown-initiator"),
        "{stranger}"
    );
    array.ok(&["host", "create", "new", "--iqn", "iqn.2026-01.org.example:stranger"]);
    let rows: Vec<Value> =
        serde_json::from_str(&array.ok(&["session", "logins", "--filter", "host=new", "-o", "json"])).unwrap();
    assert_eq!((rows.len(), &rows[0]["host"], &rows[0]["count"]), (1, &"new".into(), &2.into()));
    let watch = array.run(&["connect", "linux", "new", "--volume", "v1", "--watch", "--patience", "1s"]);
    assert_eq!(watch.status, 9, "{watch:?}");
    for text in [
        "refused  iqn.2026-01.org.example:stranger from 10.0.0.15",
        "volume v1 is not granted to host new",
        "windlass access grant",
    ] {
        assert!(watch.err.contains(text), "{text}: {}", watch.err);
    }
}
