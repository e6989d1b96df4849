//! The workspace: its folders, the program under test, the turn of jobs that do not all run each time.

use anyhow::{Result, ensure};
pub(crate) use array_process::workspace::{cargo, root, target};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// Program under test: `given`, or the release build.
pub(crate) fn windlass(given: Option<&Path>) -> Result<PathBuf> {
    let path = given.map(Path::to_path_buf).unwrap_or_else(|| target().join("release/windlass"));
    built(path, "cargo build --release")
}

/// Program as `cargo test` builds it: with debug assertions and overflow checks.
pub(crate) fn checked() -> Result<PathBuf> {
    built(target().join("debug/windlass"), "cargo test --workspace --no-run")
}

/// Checks that a program exists at the path; `command` would build it.
fn built(path: PathBuf, command: &str) -> Result<PathBuf> {
    ensure!(path.is_file(), "{} is not there; build it with: {command}", path.display());
    Ok(path)
}

/// Description and number of the turn, for jobs of which only some run each time: from the commit,
/// or without one from the day.
pub(crate) fn turn() -> (String, u64) {
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(root()).stderr(Stdio::null());
    let commit = git.output().ok().filter(|output| output.status.success());
    let commit = commit.and_then(|output| String::from_utf8(output.stdout).ok());
    let number = commit.as_deref().and_then(|commit| u64::from_str_radix(commit.get(..12)?, 16).ok());
    match (commit, number) {
        (Some(commit), Some(number)) => (format!("commit {}", commit.get(..12).unwrap_or_default()), number),
        _ => {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let day = since.as_secs() / 86_400;
            (format!("day {day}"), day)
        }
    }
}
