//! State directory of one array, for one user.

use anyhow::Context;
use reactor::ServeError;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Name of the lock file.
const LOCK_NAME: &str = "windlass.lock";
/// Second line of the lock file, after the process identifier. Releases that recorded no pool
/// (`pool_record.rs`) wrote the identifier alone.
const KEEPS_RECORD: &str = "pool.record names the pool";
/// Longest path of a Unix socket in bytes (`sun_path`, unix(7)).
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// State directory that this process owns while the value lives.
#[derive(Debug)]
pub(crate) struct StateDir {
    path: PathBuf,
    served_without_record: bool,
    /// Locked with flock(2): the kernel releases the lock when the process ends, even after a
    /// crash.
    _lock: File,
}

impl StateDir {
    /// Creates the directory if needed (accessible to its owner only) and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, ServeError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.with_context(|| format!("cannot make the state directory {}", path.display()))?;
        let lock_path = path.join(LOCK_NAME);
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&lock_path);
        let mut lock = opened.with_context(|| format!("cannot open {}", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let owner = content(&lock).lines().next().unwrap_or("unknown").to_owned();
                return Err(ServeError::Locked { state_dir: path.to_owned(), owner });
            }
            Err(TryLockError::Error(error)) => {
                let error = anyhow::Error::new(error).context(format!("cannot lock {}", lock_path.display()));
                return Err(ServeError::Failed(error));
            }
        }
        let earlier = content(&lock);
        // An empty lock file is that of a start which a power failure ended.
        let served_without_record = !earlier.is_empty() && !earlier.contains(KEEPS_RECORD);
        // A refused start must not hide from the next one what an earlier release has left.
        let marker = if served_without_record { "" } else { KEEPS_RECORD };
        let text = format!("{}\n{marker}\n", std::process::id());
        let written = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", lock_path.display()))?;
        Ok(Self { path: path.to_owned(), served_without_record, _lock: lock })
    }

    /// True if a release that recorded no pool has been started here. Its pool is recorded once it
    /// opens, and the record counts from then on.
    pub(crate) fn served_without_record(&self) -> bool {
        self.served_without_record
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Start of the lock file's text; empty if it cannot be read.
fn content(mut lock: &File) -> String {
    let mut text = String::new();
    let read = lock.rewind().and_then(|()| lock.take(64).read_to_string(&mut text));
    read.map_or_else(|_| String::new(), |_| text)
}

/// Prepares the path of a Unix socket: removes a socket without a listener; refuses a socket with a
/// listener and any other file.
pub(crate) fn clear_socket(path: &Path) -> Result<(), ServeError> {
    let length = path.as_os_str().len();
    if length > MAX_SOCKET_PATH_BYTES {
        let message = format!(
            "the socket's path {} has {length} bytes, and at most {MAX_SOCKET_PATH_BYTES} are possible: choose a shorter \
             --state-dir or --socket",
            path.display()
        );
        return Err(ServeError::Configuration(message));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(ServeError::SocketInUse { path: path.to_owned() }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            let removed = std::fs::remove_file(path);
            Ok(removed.with_context(|| format!("cannot remove the stale socket {}", path.display()))?)
        }
        Err(error) => {
            Err(ServeError::Failed(anyhow::Error::new(error).context(format!("{} is in the way", path.display()))))
        }
    }
}

/// Number of a group of this machine, from `/etc/group` (group(5)).
pub(crate) fn group_id(name: &str) -> Option<u32> {
    let text = std::fs::read_to_string("/etc/group").ok()?;
    group_in(&text, name)
}

fn group_in(text: &str, name: &str) -> Option<u32> {
    let lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.into_iter().find_map(|fields| match fields.as_slice() {
        [own, _, number, ..] if *own == name => number.parse().ok(),
        _ => None,
    })
}

/// Permission bits of a file to which other users of the machine have access; `None` if they have none.
pub(crate) fn access_of_others(path: &Path) -> Option<u32> {
    let found = std::fs::metadata(path).ok()?;
    let mode = found.permissions().mode() & 0o777;
    (found.is_file() && mode & 0o077 != 0).then_some(mode)
}

/// Warns of a file with secrets or data to which other users of the machine have access.
pub(crate) fn warn_of_access(path: &Path) {
    if let Some(mode) = access_of_others(path) {
        let (path, mode) = (path.display(), format!("{mode:04o}"));
        tracing::warn!(%path, mode, help = %format_args!("chmod 600 {path}"), "other users of this machine have access to the file");
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::{StateDir, clear_socket, group_in};
    use crate::memory::TemporaryDirectory;
    use reactor::ServeError;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn one_daemon_at_a_time() {
        let directory = TemporaryDirectory::new();
        let path = directory.path().join("state");
        let first = StateDir::open(&path).unwrap();
        let error = StateDir::open(&path).unwrap_err();
        assert!(matches!(&error, ServeError::Locked { owner, .. } if *owner == std::process::id().to_string()));
        assert_eq!(error.exit_status(), 4);
        drop(first);
        StateDir::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_stale_socket_is_removed_and_a_live_one_is_not() {
        let directory = TemporaryDirectory::new();
        let path = directory.path().join("s.sock");
        clear_socket(&path).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        assert!(matches!(clear_socket(&path), Err(ServeError::SocketInUse { .. })));
        drop(listener);
        assert!(path.exists());
        clear_socket(&path).unwrap();
        assert!(!path.exists());
        let long = directory.path().join("x".repeat(120));
        assert!(matches!(clear_socket(&long), Err(ServeError::Configuration(_))));
    }

    #[test]
    fn a_group_has_a_number() {
        let text = "root:x:0:\nwindlass-x:x:5:\nwindlass:x:990:anna,otto\nbroken:x\n";
        assert_eq!(group_in(text, "windlass"), Some(990));
        assert_eq!((group_in(text, "broken"), group_in(text, "")), (None, None));
    }
}
