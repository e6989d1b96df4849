//! A state directory whose pool is missing: no new pool is created in its place.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Starts an array, which must become ready, and stops it.
#[track_caller]
fn served(state: &Path, arguments: &[&str]) {
    let mut array = command(state, arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(array.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let pid = rustix::process::Pid::from_child(&array);
    if ready.starts_with("ready ") {
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }
    let status = array.wait().unwrap();
    assert!(ready.starts_with("ready ") && status.success(), "{arguments:?}: {ready:?}, {status}");
}

/// Starts an array, which must refuse to serve. Returns standard error.
#[track_caller]
fn refused(state: &Path, arguments: &[&str]) -> String {
    let mut array = command(state, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(array.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    if !ready.is_empty() {
        array.kill().unwrap();
    }
    let output = array.wait_with_output().unwrap();
    assert!(ready.is_empty(), "{arguments:?} serves: {ready}");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn command(state: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["serve", "--iscsi", "127.0.0.1:0", "--pool-size", "64M", "--log", "error", "--state-dir"]);
    command.arg(state).args(arguments).stdin(Stdio::null());
    command
}

/// Regression: an array whose pool was missing created an empty one, and served it to the hosts.
#[test]
fn a_missing_pool_is_refused_and_not_replaced() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    let [pool, elsewhere] = [state.join("p0.pool"), directory.path().join("elsewhere")];
    served(&state, &[]);
    let content = fs::read(&pool).unwrap();
    fs::rename(&pool, &elsewhere).unwrap();
    let told = refused(&state, &[]);
    assert!(told.contains("p0.pool") && told.contains("does not exist") && told.contains("--new-pool"), "{told}");
    assert!(!pool.exists());

    for content in [&[][..], &[0; 1 << 20]] {
        fs::write(&pool, content).unwrap();
        let told = refused(&state, &[]);
        assert!(told.contains("p0.pool") && told.contains("is empty") && told.contains("--new-pool"), "{told}");
        assert_eq!(fs::read(&pool).unwrap(), content);
    }

    fs::rename(&elsewhere, &pool).unwrap();
    served(&state, &[]);
    assert_eq!(fs::read(&pool).unwrap().len(), content.len());
}

/// Regression: another `[[pool]] name` in the configuration was another, empty pool.
#[test]
fn another_name_of_the_pool_is_refused() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    served(&state, &[]);
    let file = directory.path().join("windlass.toml");
    fs::write(&file, "[[pool]]\nname = \"p1\"\n").unwrap();
    let config = ["--config", file.to_str().unwrap()];
    for recorded in [true, false] {
        if !recorded {
            // As an earlier release has left the directory.
            fs::remove_file(state.join("pool.record")).unwrap();
        }
        let told = refused(&state, &config);
        assert!(told.contains("p1.pool") && told.contains("p0.pool") && told.contains("[[pool]]"), "{told}");
        assert!(!state.join("p1.pool").exists());
    }
    served(&state, &[]);
    assert!(fs::read_to_string(state.join("pool.record")).unwrap().contains("p0.pool"));
}

#[test]
fn a_new_pool_replaces_a_missing_one_only_on_request_and_never_a_present_one() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    served(&state, &[]);
    let pool = state.join("p0.pool");
    let first = fs::read_to_string(state.join("pool.record")).unwrap();
    let content = fs::read(&pool).unwrap();
    let told = refused(&state, &["--new-pool"]);
    assert!(told.contains("--new-pool") && told.contains("p0.pool"), "{told}");
    assert!(fs::read(&pool).unwrap() == content, "the pool was changed");
    fs::remove_file(&pool).unwrap();
    served(&state, &["--new-pool"]);
    served(&state, &[]);
    assert_ne!(fs::read_to_string(state.join("pool.record")).unwrap(), first);
}

/// A first start that failed leaves nothing that a second one takes for a used directory.
#[test]
fn a_directory_that_never_had_a_pool_gets_one() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut array = command(&state, &["--http", "127.0.0.1:0", "--iscsi", &address]);
    assert_eq!(array.output().unwrap().status.code(), Some(4));
    assert!(state.join("admin.token").exists());
    served(&state, &["--http", "127.0.0.1:0"]);

    // As an earlier release has left the directory, without its pool.
    fs::remove_file(state.join("pool.record")).unwrap();
    fs::remove_file(state.join("p0.pool")).unwrap();
    fs::write(state.join("windlass.lock"), "1234\n").unwrap();
    // The first refusal leaves nothing that lets the second start create a pool.
    for _ in 0..2 {
        let told = refused(&state, &[]);
        assert!(told.contains("an earlier release has served a pool") && told.contains("--new-pool"), "{told}");
    }
}

/// Regression: a token that was put into the directory before the first start refused that start.
#[test]
fn a_token_from_elsewhere_is_no_sign_of_a_pool() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("admin.token.sha256"), "0".repeat(64)).unwrap();
    served(&state, &[]);
}

/// Regression: after two mounts were swapped, the array served the other pool to its hosts and
/// only warned.
#[test]
fn another_pool_than_the_recorded_one_is_refused_until_it_is_adopted() {
    let directory = TempDir::new().unwrap();
    let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
    served(&one, &[]);
    served(&other, &[]);
    let record = fs::read_to_string(one.join("pool.record")).unwrap();
    fs::rename(other.join("p0.pool"), one.join("p0.pool")).unwrap();
    let content = fs::read(one.join("p0.pool")).unwrap();
    for _ in 0..2 {
        let told = refused(&one, &[]);
        assert!(told.contains("another pool") && told.contains("--adopt-pool"), "{told}");
    }
    assert!(fs::read(one.join("p0.pool")).unwrap() == content, "the pool was changed");
    assert_eq!(fs::read_to_string(one.join("pool.record")).unwrap(), record);

    served(&one, &["--adopt-pool"]);
    served(&one, &[]);
    // A missing pool is no pool to adopt.
    let told = refused(&other, &["--adopt-pool"]);
    assert!(told.contains("does not exist") && told.contains("--new-pool"), "{told}");
}

/// A fresh directory gets a pool, unless a file there may be the pool of the array. Regression: a
/// directory whose name ends in `.pool` was taken for one.
#[test]
fn a_file_that_may_be_the_pool_refuses_the_first_start_and_a_directory_does_not() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    fs::create_dir_all(state.join("car.pool")).unwrap();
    fs::write(state.join("empty.pool"), b"").unwrap();
    fs::write(state.join("p1.pool"), b"content").unwrap();
    let told = refused(&state, &[]);
    assert!(told.contains("p1.pool is there and may be the array's pool") && told.contains("--new-pool"), "{told}");
    fs::remove_file(state.join("p1.pool")).unwrap();
    served(&state, &[]);
}

/// A record that cannot be read is no reason to stay offline, nor to create a pool.
#[test]
fn a_damaged_record_stops_only_a_new_pool() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    served(&state, &[]);
    fs::write(state.join("pool.record"), b"\xff\0garbage").unwrap();
    served(&state, &[]);
    assert!(fs::read_to_string(state.join("pool.record")).unwrap().contains("uuid"));
    fs::write(state.join("pool.record"), b"\xff\0garbage").unwrap();
    fs::remove_file(state.join("p0.pool")).unwrap();
    let told = refused(&state, &[]);
    assert!(told.contains("pool.record") && told.contains("--new-pool"), "{told}");
}
