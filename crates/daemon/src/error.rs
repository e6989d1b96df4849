//! Why the array did not start or did not keep running, as a sentence, with the exit status for it.

use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why `serve` or `demo` ended.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The configuration file, an option or a variable is wrong.
    #[error("{0}")]
    Configuration(String),
    /// Another daemon has the state directory.
    #[error("another array is running on {} (process {owner})", state_dir.display())]
    Locked {
        /// The directory.
        state_dir: PathBuf,
        /// Its process id, as the lock file tells it.
        owner: String,
    },
    /// Another process answers at the socket.
    #[error("another process answers at {}", path.display())]
    SocketInUse {
        /// The socket.
        path: PathBuf,
    },
    /// A port is taken.
    #[error("{address} is in use by another program")]
    AddressInUse {
        /// The address.
        address: SocketAddr,
    },
    /// A second signal came before the array had stopped.
    #[error("stopped at once, without waiting for the array; nothing acknowledged is lost")]
    Forced,
    /// Anything else.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

impl ServeError {
    /// The exit status: 1 failed, 2 usage, 4 in use.
    pub const fn exit_status(&self) -> u8 {
        match self {
            Self::Configuration(_) => 2,
            Self::Locked { .. } | Self::SocketInUse { .. } | Self::AddressInUse { .. } => 4,
            Self::Forced | Self::Failed(_) => 1,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Configuration(_) => None,
            Self::Locked { state_dir, .. } => {
                let socket = state_dir.join(crate::state_dir::SOCKET_NAME);
                Some(format!(
                    "talk to it with  windlass --server unix:{} status  or give this one another --state-dir",
                    socket.display()
                ))
            }
            Self::SocketInUse { .. } => Some("give this array another --socket".to_owned()),
            Self::AddressInUse { address } => {
                Some(format!("find the program with  ss -ltnp 'sport = :{}'  or choose another port", address.port()))
            }
            Self::Forced | Self::Failed(_) => None,
        }
    }

    /// The error for a socket that could not be bound.
    pub fn bind(address: SocketAddr, error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::AddrInUse => Self::AddressInUse { address },
            _ => Self::Failed(anyhow::Error::new(error).context(format!("cannot listen on {address}"))),
        }
    }
}
