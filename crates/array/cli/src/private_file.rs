//! Files that only their owner can read.

use crate::error::CliError;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a file. One that exists is replaced, and keeps its mode.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), CliError> {
    let open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = open.and_then(|mut file| file.write_all(content));
    written.map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))
}
