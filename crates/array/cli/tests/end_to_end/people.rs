//! Users, tokens, sign-ins, the set-up and the audit.

use super::{Array, run};

#[test]
fn people_get_rights_and_their_changes_are_in_the_audit() {
    let array = Array::start();
    let file = |name: &str, text: &str| {
        let path = array.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let source = format!("file:{}", file("password", "correct horse battery\n"));
    assert!(array.ok(&["setup", "show"]).starts_with("the array is without an administrator"));
    assert_eq!(array.ok(&["setup", "code"]).trim().len(), 19);
    array.ok(&["setup", "run", "anna", "--password", &source]);
    assert_eq!(array.ok(&["setup", "show"]), "the array is set up\n");
    array.ok(&["user", "create", "vera", "--role", "viewer", "--password", &source]);
    assert_eq!(
        array.ok(&["user", "list"]),
        "NAME  ROLE    STATE               LAST SIGN IN\nanna  admin   active              –\nvera  viewer  password to change  –\n"
    );
    let created = array.run(&["token", "create", "csi", "--role", "operator", "--volumes", "csi-*"]);
    let secret = created.err.lines().find_map(|line| line.strip_prefix("secret, shown once: ")).unwrap();
    assert!(created.out.contains("volumes=csi-*") && !created.out.contains(secret), "{created:?}");
    let token = file("csi.token", secret);
    let url = format!("https://127.0.0.1:{}", array.https_port);
    let with_token = |words: &[&str]| run(&[&["--server", &url, "--insecure", "--token-file", &token], words].concat());
    assert_eq!(with_token(&["volume", "create", "csi-1", "--size", "1M"]).status, 0);
    let outside = with_token(&["volume", "create", "db", "--size", "1M"]);
    assert!(outside.status == 5 && outside.err.contains("(code: outside-scope)"), "{outside:?}");
    let forbidden = with_token(&["user", "list"]);
    assert_eq!(forbidden.status, 5, "{forbidden:?}");
    for (words, status, part) in [
        (&["user", "delete", "anna", "--yes"][..], 4, "anna is the last active admin"),
        (&["user", "create", "vera", "--role", "viewer", "--password", &source], 4, "belongs to another user"),
        (&["user", "set", "vera"], 2, "nothing to change"),
        (&["user", "show", "nobody"], 3, "there is no user nobody"),
        (&["token", "create", "x", "--role", "viewer", "--network", "10.0.0.0/99"], 2, "is no network"),
        (&["token", "delete", "csi"], 2, "No terminal for a confirmation"),
        (&["setup", "code"], 1, "it is set up"),
        (&["login", &url, "--fingerprint", "00", "--token", "x"], 5, "has SHA-256"),
        (&["--profile", "no-such-profile", "status"], 3, "there is no profile no-such-profile"),
    ] {
        let ran = array.run(words);
        assert!(ran.status == status && ran.err.contains(part), "{words:?}: {ran:?}");
    }
    array.ok(&["user", "set", "vera", "--lock"]);
    array.ok(&["token", "delete", "csi", "--yes"]);
    assert_eq!(with_token(&["volume", "list"]).status, 5);
    assert_eq!(array.ok(&["sign-in", "list"]).lines().count(), 1);
    let audit = array.ok(&["audit", "list", "--columns", "action,target,result", "--no-headers"]);
    let first: Vec<String> =
        audit.lines().take(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(first, ["token_delete csi done", "user_set vera done"]);
    assert!(audit.lines().any(|line| line.split_whitespace().eq(["volume_create", "–", "refused"])), "{audit}");
    assert_eq!(array.ok(&["audit", "list", "--action", "user_set", "--limit", "1"]).lines().count(), 2);
    assert!(array.ok(&["audit", "verify"]).ends_with("lines verified\n"));
}
