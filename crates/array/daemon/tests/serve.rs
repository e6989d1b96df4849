//! Life cycle of a daemon over an array in memory: it listens, refuses a second one, stops cleanly
//! at a signal, ends at a panic.
//!
//! One test covers all signals, because they concern the whole process.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use daemon::memory::{TemporaryDirectory, starter};
use daemon::{ServeOptions, serve};
use reactor::ServeError;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

fn options(state_dir: &Path) -> ServeOptions {
    ServeOptions {
        state_dir: Some(state_dir.to_owned()),
        iscsi: vec!["127.0.0.1:3260".parse().unwrap()],
        http: Some("127.0.0.1:0".parse().unwrap()),
        ..ServeOptions::default()
    }
}

/// GETs a path over the administrative socket.
fn get(socket: &Path, path: &str) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: windlass\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn serves_until_told_to_stop() {
    let directory = TemporaryDirectory::new();
    let state_dir = directory.path().join("state");
    let socket = state_dir.join("windlass.sock");
    let first = options(&state_dir);
    let daemon = std::thread::spawn(move || serve(first, starter(|_, _, _| {})));
    let deadline = Instant::now() + Duration::from_secs(20);
    let answer = loop {
        match get(&socket, "/health") {
            Ok(answer) if !answer.is_empty() => break answer,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"health":"healthy"}"#), "{answer}");
    let mode = |name: &str| std::fs::metadata(state_dir.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("windlass.sock"), mode("admin.token"), mode("tls/key.pem")), (0o600, 0o600, 0o600));

    let second = serve(options(&state_dir), starter(|_, _, _| {})).unwrap_err();
    assert!(matches!(second, ServeError::Locked { .. }), "{second:?}");
    let elsewhere = ServeOptions { socket: Some(socket.clone()), ..options(&directory.path().join("other")) };
    let third = serve(elsewhere, starter(|_, _, _| {})).unwrap_err();
    assert!(matches!(third, ServeError::SocketInUse { .. }), "{third:?}");
    assert!(get(&socket, "/health").unwrap().starts_with("HTTP/1.1 200"));

    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM).unwrap();
    daemon.join().unwrap().unwrap();
    assert!(!socket.exists());

    let broken = |_, _| -> Result<(), ServeError> { Err(anyhow::anyhow!("the pool is of another version").into()) };
    let failed = serve(options(&state_dir), broken).unwrap_err();
    assert_eq!(failed.to_string(), "the pool is of another version");
    assert!(!socket.exists());
}

/// Environment variable of the process that is to panic; its value is the state directory.
const PANICS: &str = "WINDLASS_TEST_PANICS_IN";

/// Runs in its own process, since that ends: after a panic, it serves neither hosts nor the
/// administrator.
#[test]
fn a_panic_ends_the_process() {
    if let Some(state_dir) = std::env::var_os(PANICS) {
        let panics = |_, _| -> Result<(), ServeError> { panic!("on purpose") };
        let outlived = serve(options(Path::new(&state_dir)), panics);
        println!("it goes on: {outlived:?}");
        return;
    }
    let directory = TemporaryDirectory::new();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_panic_ends_the_process", "--nocapture"]).env(PANICS, directory.path().join("state"));
    let output = child.output().unwrap();
    assert_eq!(output.status.signal(), Some(6), "not ended by SIGABRT: {output:?}");
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("on purpose") && told.contains("internal error: the array aborts"), "{told}");
}
