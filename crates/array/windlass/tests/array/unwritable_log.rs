//! A log that cannot be written: standard error on a full file system, or on a closed pipe.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

fn serve(state: &Path, format: &str, log: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(["serve", "--iscsi", "127.0.0.1:0", "--pool-size", "64M", "--log", "debug", "--log-format", format]);
    command.arg("--state-dir").arg(state).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap()
}

/// Regression: the first line that could not be written was a panic, and the array aborted.
#[test]
fn an_array_that_cannot_write_its_log_serves() {
    for format in ["text", "json"] {
        for closed_pipe in [false, true] {
            let directory = TempDir::new().unwrap();
            let state = directory.path().join("state");
            let log = if closed_pipe {
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                Stdio::from(writer)
            } else {
                Stdio::from(File::options().write(true).open("/dev/full").unwrap())
            };
            let mut array = serve(&state, format, log);
            let mut ready = String::new();
            BufReader::new(array.stdout.take().unwrap()).read_line(&mut ready).unwrap();
            assert!(ready.starts_with("ready "), "{format}, closed pipe {closed_pipe}: {:?}", array.wait());
            // Standard output is closed from here on, too.
            let run = |words: &[&str]| {
                let server = format!("unix:{}", state.join("windlass.sock").display());
                let run = Command::new(env!("CARGO_BIN_EXE_windlass")).args(["--server", &server]).args(words).output();
                let output = run.unwrap();
                assert!(output.status.success(), "{format}, closed pipe {closed_pipe}: {output:?}");
            };
            run(&["volume", "create", "v1", "--size", "1G"]);
            run(&["volume", "list"]);
            let pid = rustix::process::Pid::from_child(&array);
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            assert!(array.wait().unwrap().success(), "{format}, closed pipe {closed_pipe}");
        }
    }
}

/// Answer of an array to a GET over its administrative socket.
fn get(state: &Path, path: &str) -> String {
    let mut stream = UnixStream::connect(state.join("windlass.sock")).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: windlass\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Regression: when nobody read standard error, the thread that serves hosts stopped at the
/// first log line that the pipe did not take.
#[test]
fn an_array_whose_log_nobody_reads_serves() {
    let directory = TempDir::new().unwrap();
    let state = directory.path().join("state");
    let (unread, log) = std::io::pipe().unwrap();
    let mut array = serve(&state, "text", log.into());
    let mut ready = String::new();
    BufReader::new(array.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let portal = ready.split_once("iscsi=").unwrap().1.split(' ').next().unwrap();
    let run = |words: &[&str]| {
        let server = format!("unix:{}", state.join("windlass.sock").display());
        let run = Command::new(env!("CARGO_BIN_EXE_windlass")).args(["--server", &server]).args(words).output();
        let output = run.unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["volume", "create", "v1", "--size", "1G"]);
    run(&["access", "grant", "v1", "--any"]);
    let long = format!("/api/v1/volumes/{}", "x".repeat(4000));
    let dropped = || {
        let metrics = get(&state, "/metrics");
        let line = metrics.lines().find(|line| line.starts_with("windlass_log_lines_dropped_total")).unwrap();
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    // Long lines fill the queue; short ones fill the rest of it.
    for path in [long.as_str(), "/api/v1/volumes/x"] {
        let before = dropped();
        let mut requests = 0;
        while dropped() == before {
            get(&state, path);
            requests += 1;
            assert!(requests < 10_000, "no line was dropped");
        }
    }
    // Each connection that ends is a line of the reactor's thread; so is each session.
    let before = dropped();
    for _ in 0..20 {
        drop(TcpStream::connect(portal).unwrap());
    }
    let url = run(&["access", "list", "-o", "csv", "--columns", "url", "--no-headers"]);
    run(&["probe", url.trim(), "--write-test"]);
    assert!(dropped() > before);
    let pid = rustix::process::Pid::from_child(&array);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(array.wait().unwrap().success());
    drop(unread);
}
