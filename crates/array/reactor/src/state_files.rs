//! Files in the state directory that several parts of the array know.

use anyhow::Context;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Name of the administrative socket.
pub const SOCKET_NAME: &str = "windlass.sock";

/// Writes a file that only its owner can read, and replaces an existing one as a whole. Durable on return.
pub fn write_private(path: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    let write = || -> std::io::Result<()> {
        match std::fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        file.write_all(content.as_ref())?;
        file.sync_all()?;
        std::fs::rename(&partial, path)?;
        path.parent().map_or(Ok(()), sync_directory)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the names in a directory durable.
pub fn sync_directory(directory: &Path) -> std::io::Result<()> {
    // The directory of a bare name is the present one.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::{sync_directory, write_private};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn private_files_are_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        write_private(&path, "one").unwrap();
        write_private(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn directories_of_bare_names_can_be_synced() {
        assert!(sync_directory(Path::new("name").parent().unwrap()).is_ok());
        assert!(sync_directory(&tempfile::tempdir().unwrap().path().join("missing")).is_err());
    }
}
