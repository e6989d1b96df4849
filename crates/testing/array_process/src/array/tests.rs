#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use super::*;

/// Executable script that implements the array's command line as far as a test needs it.
fn script(directory: &Path, body: &str) -> ArrayOptions {
    let executable = directory.join("windlass");
    // A separate process writes the file. This process may fork for another test while the file is
    // open, and a file open for writing cannot be executed.
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    assert!(
        std::process::Command::new("sh").arg("-c").arg(write).arg(&executable).arg(body).status().unwrap().success()
    );
    ArrayOptions {
        executable,
        state_directory: directory.join("state"),
        portals: vec!["127.0.0.1:3260".parse().unwrap(), "127.0.0.1:3261".parse().unwrap()],
        pool_size: "1G".into(),
        arguments: Vec::new(),
    }
}

const ARRAY: &str = r#"
if [ "$1" = serve ]; then
  trap 'exit 0' TERM
  echo "warming up"; echo "ready iscsi 127.0.0.1:3260"
  while :; do sleep 0.02; done
fi
case "$3 $4" in
  "volume show") echo '{"luns":[{"iscsi_url":"iscsi://127.0.0.1:3260/iqn.x:y/4"}]}';;
  "pool show") echo '{"used_bytes": 4096}';;
  "volume create"|"access grant") ;;
  *) echo "error: unknown" >&2; exit 2;;
esac"#;

#[test]
fn it_is_ready_answers_and_stops() {
    let directory = tempfile::tempdir().unwrap();
    let mut array = Array::start(script(directory.path(), ARRAY)).unwrap();
    assert!(array.alive().unwrap());
    assert_eq!(array.pool_number("used_bytes").unwrap(), 4096);
    let volume = array.create_volume("v", "1G").unwrap();
    assert_eq!(volume.urls, ["iscsi://127.0.0.1:3260/iqn.x:y/4", "iscsi://127.0.0.1:3261/iqn.x:y/4"]);
    let error = array.command(&["volume", "dance"]).unwrap_err().to_string();
    assert!(error.contains("error: unknown"), "{error}");
    array.stop().unwrap();
    array.restart().unwrap();
    array.kill().unwrap();
    assert!(!array.alive().unwrap());
}

#[test]
fn the_reason_of_a_failed_start_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let error = Array::start(script(directory.path(), "echo 'error: port in use' >&2; exit 1")).unwrap_err();
    assert!(error.to_string().contains("port in use"), "{error}");
}

#[test]
fn a_portal_replaces_host_and_port() {
    let portal = "[::1]:7".parse().unwrap();
    assert_eq!(through_portal("iscsi://10.0.0.1:3260/iqn.x:y/3", portal).unwrap(), "iscsi://[::1]:7/iqn.x:y/3");
    assert_eq!(through_portal("http://x/y", portal), None);
}
