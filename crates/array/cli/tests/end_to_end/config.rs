//! `windlass config`.

use super::Array;

#[test]
fn a_configuration_is_exported_planned_and_applied() {
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    let file = array.directory.path().join("array.toml");
    let path = file.to_str().unwrap();
    array.ok(&["config", "export", "--file", path]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(array.ok(&["config", "export"]), text);
    let plan = array.run(&["config", "plan", path, "-o", "json"]);
    assert!(plan.out.contains("\"steps\": []") && plan.status == 0, "{plan:?}");

    let host = "\n[[host]]\nname = \"h1\"\niqns = [\"iqn.2026-01.org.example:h1\"]\nchap = { user = \"h1\" }\n";
    let wanted = text.replace("host = []", "").replace("size_bytes = 1073741824", "size_bytes = 2147483648") + host;
    std::fs::write(&file, wanted).unwrap();
    let plan = array.ok(&["config", "plan", path]);
    assert!(plan.contains("~   volume  v1    size_bytes=1073741824→2147483648"), "{plan}");
    assert!(plan.contains("+   host    h1"), "{plan}");
    let unconfirmed = array.run(&["config", "apply", path]);
    assert_eq!(unconfirmed.status, 2, "{unconfirmed:?}");
    let applied = array.run(&["config", "apply", path, "--yes"]);
    assert_eq!(applied.status, 0, "{applied:?}");
    assert!(applied.err.contains("secret of host h1, shown once: "), "{applied:?}");
    let nothing = array.run(&["config", "apply", path, "--yes"]);
    assert_eq!((nothing.status, nothing.err.as_str()), (0, "nothing to do: the array is as the document says\n"));

    std::fs::write(&file, text).unwrap();
    let shrinks = array.run(&["config", "plan", path]);
    assert_eq!(shrinks.status, 9, "{shrinks:?}");
    assert!(shrinks.out.contains("a volume does not shrink"), "{shrinks:?}");
    std::fs::write(&file, "format = 1\nvolume = []\ncolour = 1\n").unwrap();
    let bad = array.run(&["config", "plan", path]);
    assert!(bad.status == 2 && bad.err.starts_with("error: line 3: colour: unknown field"), "{bad:?}");
    std::fs::write(&file, "format = 1\nvolume = []\n").unwrap();
    let refused = array.run(&["config", "apply", path, "--yes"]);
    assert!(refused.err.contains("(code: deletes-not-allowed)") && refused.status == 4, "{refused:?}");
    array.ok(&["config", "apply", path, "--yes", "--allow-delete"]);
    assert_eq!(array.ok(&["volume", "list", "-o", "name"]), "");
    assert!(array.ok(&["trash", "list"]).contains("v1"));
}

#[test]
fn a_support_bundle_and_the_audit_become_files_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let array = Array::start();
    array.ok(&["volume", "create", "v1", "--size", "1G"]);
    let file = array.directory.path().join("bundle.tar.gz");
    let path = file.to_str().unwrap();
    for options in [vec![], vec!["--replace-names", "--hours", "1"]] {
        let words = [&["support", "bundle", "--file", path][..], &options].concat();
        let made = array.run(&words);
        assert!(made.status == 0 && made.err.contains("support bundle written to "), "{made:?}");
        let bytes = std::fs::read(&file).unwrap();
        assert!(bytes.starts_with(&[0x1f, 0x8b]) && bytes.len() > 1000, "{} bytes", bytes.len());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_file(&file).unwrap();
    }
    assert_eq!(array.run(&["support", "bundle", "--hours", "0"]).status, 2);
    let lines = array.directory.path().join("audit.jsonl");
    array.ok(&["audit", "export", "--file", lines.to_str().unwrap()]);
    let text = std::fs::read_to_string(&lines).unwrap();
    assert!(text.contains("\"action\":\"volume_create\"") && text.contains("\"action\":\"bundle_create\""), "{text}");
    assert!(text.lines().all(|line| line.starts_with("{\"seq\":")), "{text}");
    let time = "2000-01-01T00:00:00Z";
    assert_eq!(array.ok(&["audit", "export", "--until", time]), "");
    assert!(array.ok(&["audit", "list", "--until", time, "-q"]).lines().count() <= 1);
}
