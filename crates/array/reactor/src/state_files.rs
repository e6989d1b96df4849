//! Files in the state directory that several parts of the array know.

use anyhow::Context;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Name of the administrative socket.
pub const SOCKET_NAME: &str = "windlass.sock";

/// Writes a file that only its owner can read, and replaces an existing one as a whole.
pub fn write_private(path: &Path, content: &str) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    let write = || -> std::io::Result<()> {
        match std::fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&partial, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::write_private;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn private_files_are_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        write_private(&path, "one").unwrap();
        write_private(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
