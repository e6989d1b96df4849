//! How the array is reached, and mistakes.

use super::{Array, ESX01, run};

#[test]
fn over_tls_the_token_and_the_certificate_count() {
    let array = Array::start();
    let url = format!("https://127.0.0.1:{}", array.https_port);
    let file = |name: &str| array.directory.path().join(name).display().to_string();
    let (token, certificate) = (file("admin.token"), file("tls/cert.pem"));
    let good = run(&["--server", &url, "--ca", &certificate, "--token-file", &token, "volume", "list", "--no-headers"]);
    assert_eq!((good.status, good.out.as_str()), (0, ""), "{good:?}");
    assert_eq!(run(&["--server", &url, "--insecure", "--token-file", &token, "status"]).status, 0);
    let untrusted = run(&["--server", &url, "--token-file", &token, "status"]);
    assert_eq!(untrusted.status, 7);
    assert!(untrusted.err.contains("help: trust the certificate with  --ca"), "{}", untrusted.err);
    let stranger = run(&["--server", &url, "--ca", &certificate, "status"]);
    assert_eq!(stranger.status, 5);
    assert!(
        stranger.err.starts_with("error: a valid token is needed (code: unauthorized)\nhelp: "),
        "{}",
        stranger.err
    );
    let plain = run(&["--server", &url.replace("https", "http"), "status"]);
    assert_eq!(plain.status, 2);
}

#[test]
fn mistakes_are_told_with_their_status() {
    let array = Array::start();
    for (words, status, text) in [
        (
            &["volume", "show", "nothing"][..],
            3,
            "error: there is no volume nothing (code: not-found)\nhelp: list the volumes:  windlass volume list",
        ),
        (&["volume", "show", "../hosts"], 3, "there is no volume ../hosts"),
        (&["volume", "create", "v1", "--size", "100GB"], 2, "\"100GB\" is ambiguous"),
        (&["volume", "create", "v1", "--size", "1"], 2, "(code: invalid-size)"),
        (&["volume", "create", "a b", "--size", "1G"], 2, "(code: invalid-name)"),
        (
            &["volume", "list", "--columns", "name,colour"],
            2,
            "there is no column \"colour\"; the columns are name,size,",
        ),
        (&["volume", "list", "-o", "xml"], 2, "[possible values: table, wide, json, yaml, csv, name]"),
        (&["volume", "set", "v1"], 2, "--write-cache"),
        (&["access", "grant", "v1"], 2, "--host"),
        (&["access", "grant", "v1", "--any", "--host", "x"], 2, "cannot be used with"),
        (&["session", "drop", "99", "--yes"], 3, "there is no session 99"),
        (&["pool", "show", "p9"], 3, "there is no pool p9"),
        (&["host", "create", "h", "--iqn", "x"], 2, "(code: invalid-initiator-name)"),
        (&["host", "create", "h", "--iqn", ESX01, "--chap-user", "u", "--chap-secret", "hunter2"], 2, "env:NAME"),
        (&["status", "-o", "csv"], 2, "status has no rows"),
    ] {
        let ran = array.run(words);
        assert_eq!(ran.status, status, "{words:?}: {ran:?}");
        assert!(ran.err.contains(text), "{words:?}: {}", ran.err);
        assert_eq!(ran.out, "");
    }
    let nobody = run(&["--server", "unix:/nonexistent/windlass.sock", "status"]);
    assert_eq!(nobody.status, 7);
    assert!(nobody.err.contains("help: start it with  windlass serve"), "{}", nobody.err);
}
