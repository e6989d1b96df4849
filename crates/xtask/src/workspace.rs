//! Where things are: the workspace, its target directory, the program under test.

use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from).unwrap_or_else(|| root().join("target"))
}

/// The program under test: `given`, or the release build.
pub(crate) fn windlass(given: Option<&Path>) -> Result<PathBuf> {
    let path = given.map(Path::to_path_buf).unwrap_or_else(|| target().join("release/windlass"));
    built(path, "cargo build --release")
}

/// The program as `cargo test` builds it: with debug assertions and overflow checks.
pub(crate) fn checked() -> Result<PathBuf> {
    built(target().join("debug/windlass"), "cargo test --workspace --no-run")
}

/// The path of a program, which `command` would build.
fn built(path: PathBuf, command: &str) -> Result<PathBuf> {
    ensure!(path.is_file(), "{} is not there; build it with: {command}", path.display());
    Ok(path)
}

/// Whose turn it is where not all can run every time, and words that say why: the commit decides, and without one the day.
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
