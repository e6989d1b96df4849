//! The host kit's commands for NFS, as a process, against the NFS server in memory.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod conformance;
mod disk;
mod lab;
mod probe;

use std::process::{Command, Output};

/// Runs the program, and returns its exit status, standard output and standard error.
fn windlass(words: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_windlass")).args(words).env_remove("WINDLASS_SERVER").output().unwrap();
    (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// URL of a new server's share `s`; its other share is `t`.
fn share() -> String {
    format!("nfs://{}/s", nfs_memory::start().unwrap())
}
