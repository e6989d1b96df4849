//! A log that cannot be written: standard error on a full file system, or on a closed pipe.

use std::fs::File;
use std::io::{BufRead, BufReader};
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
