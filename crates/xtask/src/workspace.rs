//! Where things are: the workspace, its target directory, the program under test.

use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

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
    ensure!(path.is_file(), "{} is not there; build it with: cargo build --release", path.display());
    Ok(path)
}
