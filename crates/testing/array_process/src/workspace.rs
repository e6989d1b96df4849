//! Folders of the workspace from which the harness was built.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Root of the workspace.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(3).unwrap_or(own).to_path_buf()
}

/// Target directory of cargo.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Command that runs cargo, in the root of the workspace: the cargo that has started this program, if one
/// has.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Installs the missing third-party programs for a task of `scripts/need`.
///
/// # Errors
///
/// A program is missing and cannot be installed.
pub fn need(task: &str) -> Result<()> {
    let status = Command::new(root().join("scripts/need")).arg(task).status().context("cannot run scripts/need")?;
    ensure!(status.success(), "programs that {task} needs are missing");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_scripts() {
        assert!(root().join("scripts/need").is_file());
    }
}
