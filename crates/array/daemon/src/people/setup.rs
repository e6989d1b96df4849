//! The set-up code of an array without an administrator, in `STATE_DIR/setup.code`.

use super::entropy::random;
use identity::SetupCode;
use jiff::Timestamp;
use reactor::state_files::write_private;
use std::path::Path;

/// Name of the file with the code, in the state directory.
pub(super) const FILE_NAME: &str = "setup.code";

/// Makes a code and writes it into the file.
pub(super) fn make(state_dir: &Path) -> anyhow::Result<(SetupCode, String)> {
    let (code, text) = SetupCode::new(random()?, Timestamp::now());
    write_private(&state_dir.join(FILE_NAME), &format!("{text}\n"))?;
    Ok((code, text))
}

/// Removes the file: there is an administrator, or the code is not accepted any more.
pub(super) fn remove(state_dir: &Path) {
    let _gone = std::fs::remove_file(state_dir.join(FILE_NAME));
}
