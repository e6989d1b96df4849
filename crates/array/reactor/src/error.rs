//! Reasons why the array did not start or stopped, as sentences, with their exit statuses.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Reason why `serve` ended.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Invalid configuration file, option or variable.
    #[error("{0}")]
    Configuration(String),
    /// Another daemon uses the state directory.
    #[error("another array is running on {} (process {owner})", state_dir.display())]
    Locked {
        /// State directory.
        state_dir: PathBuf,
        /// Process id of the other daemon, from the lock file.
        owner: String,
    },
    /// Another process listens on the socket.
    #[error("another process answers at {}", path.display())]
    SocketInUse {
        /// Path of the socket.
        path: PathBuf,
    },
    /// Another program uses a port.
    #[error("{address} is in use by another program")]
    AddressInUse {
        /// Address with the port.
        address: SocketAddr,
    },
    /// Another process uses the pool's file or device.
    #[error("{reason}")]
    PoolInUse {
        /// Path, and the process that uses it.
        reason: String,
    },
    /// The file or device holds no pool that can be served: other data, another version, or a
    /// damaged pool. It was not changed.
    #[error("cannot open the pool {}: {reason}", path.display())]
    PoolRefused {
        /// Path of the file or device.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
        /// True if it holds a pool with damaged metadata, which a repair may rebuild.
        is_damaged: bool,
    },
    /// The pool is missing or empty, and the state directory has served one. No pool was created.
    #[error("the pool {} {condition}, but {sign}: no new pool is created in its place", path.display())]
    PoolMissing {
        /// Path of the file or device.
        path: PathBuf,
        /// "does not exist" or "is empty".
        condition: &'static str,
        /// Sign of the earlier pool.
        sign: String,
    },
    /// The path holds a pool other than the one that the state directory has served. It was not
    /// changed.
    #[error("{} is another pool than this state directory has served: its identifier is {uuid}, and that of {} is {recorded}", path.display(), recorded_path.display())]
    OtherPool {
        /// Path of the file or device.
        path: PathBuf,
        /// Identifier of the pool there.
        uuid: String,
        /// Path of the pool that was served.
        recorded_path: PathBuf,
        /// Identifier of the pool that was served.
        recorded: String,
    },
    /// A new pool was requested at a path that holds data.
    #[error("{} is not empty, and --new-pool replaces nothing", path.display())]
    PoolExists {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// The file system has no room for a new pool's log.
    #[error("cannot make the pool {}: its log needs {}, and the file system has {} free", path.display(), text::size::format(*needed_bytes), text::size::format(*free_bytes))]
    NoRoom {
        /// Path of the pool's file.
        path: PathBuf,
        /// Bytes that are written at creation.
        needed_bytes: u64,
        /// Bytes available in the file system.
        free_bytes: u64,
    },
    /// A second signal came before the array had stopped.
    #[error("stopped at once, without waiting for the array; acknowledged data is safe")]
    Forced,
    /// Any other error.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

impl ServeError {
    /// Exit status: 1 failed, 2 usage, 4 in use, 5 denied, 6 no space.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Configuration(_) => 2,
            Self::Locked { .. } | Self::SocketInUse { .. } | Self::AddressInUse { .. } | Self::PoolInUse { .. } => 4,
            Self::Failed(error) => match system_error(error) {
                Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => 5,
                Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => 6,
                _ => 1,
            },
            Self::NoRoom { .. } => 6,
            Self::PoolRefused { .. }
            | Self::PoolMissing { .. }
            | Self::OtherPool { .. }
            | Self::PoolExists { .. }
            | Self::Forced => 1,
        }
    }

    /// Recommended action.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Configuration(_) => None,
            Self::Locked { state_dir, .. } => {
                let socket = state_dir.join(crate::state_files::SOCKET_NAME);
                Some(format!(
                    "talk to it with  windlass --server unix:{} status  or give this one another --state-dir",
                    socket.display()
                ))
            }
            Self::SocketInUse { .. } => Some("give this array another --socket".to_owned()),
            Self::AddressInUse { address } => {
                Some(format!("find the program with  ss -ltnp 'sport = :{}'  or choose another port", address.port()))
            }
            Self::PoolInUse { .. } => {
                Some("another array may serve it; stop that one, or name another [[pool]] path or --state-dir".to_owned())
            }
            Self::PoolRefused { path, is_damaged: true, .. } => Some(format!(
                "nothing was changed; see whether a repair rebuilds it with  windlass pool repair {path} --dry-run  and look closer with  windlass pool check {path}",
                path = path.display()
            )),
            Self::PoolRefused { path, is_damaged: false, .. } => Some(format!(
                "nothing was changed; look closer with  windlass pool check {}  or choose another --state-dir",
                path.display()
            )),
            Self::PoolMissing { .. } => Some(
                "mount its disk, put the pool back, or correct name and path under [[pool]]; to begin with a new, empty pool, start once with  --new-pool".to_owned(),
            ),
            Self::OtherPool { .. } => Some(
                "mounts or disks may be swapped; mount those of the served pool, or correct path under [[pool]]; to serve this pool from now on, start once with  --adopt-pool".to_owned(),
            ),
            Self::PoolExists { .. } => {
                Some("leave --new-pool out to serve this pool, or name another path under [[pool]]".to_owned())
            }
            Self::Failed(error) => match system_error(error)? {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    Some("choose what this user may use, or run as one who may (a port below 1024 needs CAP_NET_BIND_SERVICE)".to_owned())
                }
                ErrorKind::AddrNotAvailable => {
                    Some("choose an address of this machine; they are in  ip -brief address".to_owned())
                }
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                    Some("free space there, or choose another --state-dir or --pool-size".to_owned())
                }
                _ => None,
            },
            Self::NoRoom { .. } => Some("free space there, or choose another --state-dir or a smaller --pool-size".to_owned()),
            Self::Forced => None,
        }
    }

    /// Error for a socket that could not be bound.
    pub fn bind(address: SocketAddr, error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::AddrInUse => Self::AddressInUse { address },
            _ => Self::Failed(anyhow::Error::new(error).context(format!("cannot listen on {address}"))),
        }
    }
}

/// Kind of the operating system's error, if that is the cause.
fn system_error(error: &anyhow::Error) -> Option<ErrorKind> {
    error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind)
}

#[cfg(test)]
mod tests {
    use super::ServeError;

    /// Regression: a damaged block of the space index, which a repair rebuilds, kept the array from
    /// starting, and no help named the repair.
    #[test]
    fn the_help_for_damage_names_the_repair() {
        let help = |is_damaged| {
            let refused = ServeError::PoolRefused { path: "p0.pool".into(), reason: String::new(), is_damaged };
            refused.help().unwrap_or_default()
        };
        assert!(help(true).contains("windlass pool repair p0.pool --dry-run"), "{}", help(true));
        assert!(help(true).contains("windlass pool check p0.pool") && !help(false).contains("repair"));
    }
}
