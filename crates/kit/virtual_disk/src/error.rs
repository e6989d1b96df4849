//! Errors of commands, advice for each, and the exit status: 1 failed, 2 usage, 3 not found, 4 in
//! use or in the way, 5 denied, 6 no space, 7 unreachable, 8 timed out, 130 interrupted.

use data_mover::{DeviceError, Sense};
use datastore::DatastoreError;
use initiator::{ProbeError, SessionError};
use iscsi::pdu::LoginStatus;
use nfs::v4::Status;
use nfs_client::ClientError;
use thiserror::Error;

/// Reason why a command failed.
#[derive(Debug, Error)]
pub enum DiskError {
    /// The arguments of the command make no sense.
    #[error("{0}")]
    Usage(String),
    /// The session with the target failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The logical unit was not found or cannot be used.
    #[error(transparent)]
    Unit(#[from] ProbeError),
    /// A logical unit failed a command.
    #[error("{on}: {error}")]
    Device {
        /// Location without secrets.
        on: String,
        /// Error of the device.
        error: DeviceError,
    },
    /// An operation on a datastore failed.
    #[error("{on}: {error}")]
    Datastore {
        /// Location without secrets.
        on: String,
        /// Error of the datastore.
        error: DatastoreError,
    },
    /// A call to an NFS server failed.
    #[error("{on}: {error}")]
    Nfs {
        /// URL of the share or file.
        on: String,
        /// Error of the call.
        error: ClientError,
    },
    /// The logical unit holds data, and the command was not allowed to destroy it.
    #[error("{on} holds data: {found}")]
    HoldsData {
        /// Location without secrets.
        on: String,
        /// Data found there.
        found: String,
        /// Name to pass to `--destroy-data`.
        name: String,
    },
    /// A disk was moved, but the old one could not be removed.
    #[error("the old disk could not be removed: {0}")]
    OldDiskLeft(Box<DiskError>),
    /// A living host has the datastore mounted that would be overwritten.
    #[error("{on} holds the datastore {name}, which {host} has mounted")]
    Mounted {
        /// Location without secrets.
        on: String,
        /// Name of the datastore.
        name: String,
        /// Name of the host.
        host: String,
    },
    /// `--destroy-data` names another logical unit.
    #[error("--destroy-data names {given}, but this is {name}")]
    OtherName {
        /// Name that was given.
        given: String,
        /// Name of the logical unit.
        name: String,
    },
    /// Ctrl-C. The words state the result so far.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// Data, or the result of an operation, is not as expected.
    #[error("{0}")]
    Wrong(String),
    /// A file of this machine cannot be read or written.
    #[error("{what}: {error}")]
    File {
        /// File and purpose.
        what: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
}

impl DiskError {
    /// Wraps an error of a datastore, or of the device under it, at a location.
    pub fn datastore(on: impl ToString, error: DatastoreError) -> Self {
        match error {
            DatastoreError::Device(error) => Self::device(on, error),
            error => Self::Datastore { on: on.to_string(), error },
        }
    }

    /// Wraps an error of a call to an NFS server.
    pub fn nfs(on: impl ToString, error: ClientError) -> Self {
        Self::Nfs { on: on.to_string(), error }
    }

    /// Wraps an error of a logical unit.
    pub fn device(on: impl ToString, error: DeviceError) -> Self {
        match error {
            DeviceError::Interrupted => Self::Interrupted(on.to_string()),
            error => Self::Device { on: on.to_string(), error },
        }
    }

    /// Replaces the words of an interruption by the result so far.
    #[must_use]
    pub(crate) fn when_interrupted(self, words: impl FnOnce() -> String) -> Self {
        match self {
            Self::Interrupted(_) => Self::Interrupted(words()),
            error => error,
        }
    }

    /// Exit status and code.
    fn class(&self) -> (u8, &'static str) {
        const FAILED: (u8, &str) = (1, "failed");
        const NOT_FOUND: (u8, &str) = (3, "not-found");
        const IN_USE: (u8, &str) = (4, "in-use");
        const EXISTS: (u8, &str) = (4, "conflict");
        const NO_SPACE: (u8, &str) = (6, "no-space");
        const UNREACHABLE: (u8, &str) = (7, "unreachable");
        const TIMED_OUT: (u8, &str) = (8, "timed-out");
        match self {
            Self::Usage(_) | Self::OtherName { .. } => (2, "usage"),
            Self::OldDiskLeft(error) => error.class(),
            Self::HoldsData { .. } => EXISTS,
            Self::Mounted { .. } => IN_USE,
            Self::Session(error) => match error {
                SessionError::Timeout { .. } => TIMED_OUT,
                SessionError::Connect { .. } | SessionError::Lost { .. } => UNREACHABLE,
                SessionError::Login { status, .. } => match *status {
                    LoginStatus::AUTHENTICATION_FAILURE | LoginStatus::AUTHORIZATION_FAILURE => (5, "denied"),
                    LoginStatus::TARGET_NOT_FOUND | LoginStatus::TARGET_REMOVED => NOT_FOUND,
                    _ => FAILED,
                },
            },
            Self::Unit(error) => match error {
                ProbeError::Session(SessionError::Timeout { .. })
                | ProbeError::Command { error: DeviceError::TimedOut(_), .. } => TIMED_OUT,
                ProbeError::Session(_) => UNREACHABLE,
                ProbeError::NoDisk { .. } => NOT_FOUND,
                // LOGICAL UNIT NOT SUPPORTED
                ProbeError::Command {
                    error: DeviceError::Refused { sense: Sense { key: 5, code: 0x25, .. }, .. },
                    ..
                } => NOT_FOUND,
                ProbeError::Command { error: DeviceError::Lost(_), .. } => UNREACHABLE,
                ProbeError::Command { .. }
                | ProbeError::Malformed { .. }
                | ProbeError::BlockLength { .. }
                | ProbeError::Capacity { .. } => FAILED,
            },
            Self::Device { error, .. } => match error {
                DeviceError::Full => NO_SPACE,
                DeviceError::Lost(_) => UNREACHABLE,
                DeviceError::TimedOut(_) => TIMED_OUT,
                DeviceError::ReservationConflict => IN_USE,
                _ => FAILED,
            },
            Self::Datastore { error, .. } => match error {
                DatastoreError::Full | DatastoreError::TooManyFiles(_) => NO_SPACE,
                DatastoreError::NoDatastore | DatastoreError::NoSuchFile(_) => NOT_FOUND,
                DatastoreError::Exists(_) | DatastoreError::Partial(_) | DatastoreError::NotEmpty => EXISTS,
                DatastoreError::Locked { .. }
                | DatastoreError::HasChildren(_)
                | DatastoreError::Changed(_)
                | DatastoreError::Reserved
                | DatastoreError::TooManyHosts(_) => IN_USE,
                DatastoreError::Name(_)
                | DatastoreError::Unsuitable(_)
                | DatastoreError::Geometry(_)
                | DatastoreError::Range { .. } => (2, "usage"),
                _ => FAILED,
            },
            Self::Nfs { error, .. } => match error {
                ClientError::Connect { .. } | ClientError::Lost { .. } | ClientError::SessionLost(_) => UNREACHABLE,
                ClientError::Timeout { .. } => TIMED_OUT,
                ClientError::Status { status, .. } => match *status {
                    Status::NOENT => NOT_FOUND,
                    Status::EXIST | Status::NOTEMPTY => EXISTS,
                    Status::SHARE_DENIED | Status::LOCKED | Status::FILE_OPEN => IN_USE,
                    Status::ACCESS | Status::PERM | Status::ROFS | Status::WRONGSEC => (5, "denied"),
                    Status::NOSPC | Status::DQUOT => NO_SPACE,
                    _ => FAILED,
                },
                ClientError::Rpc(_) | ClientError::Malformed(_) => FAILED,
            },
            Self::Interrupted(_) => (130, "interrupted"),
            Self::Wrong(_) | Self::File { .. } => FAILED,
        }
    }

    /// Exit status of the program.
    pub fn exit_status(&self) -> u8 {
        self.class().0
    }

    /// Stable code for programs.
    pub fn code(&self) -> &'static str {
        self.class().1
    }

    /// Advice for the user.
    pub fn help(&self) -> Option<String> {
        let words: String = match self {
            Self::Mounted { .. } => "end that host's use of it first, or wait until the host is silent; its state is in  windlass datastore hosts URL".into(),
            Self::OldDiskLeft(_) => "the disk is complete at its destination: delete the old one with  windlass disk delete  when its array responds".into(),
            Self::HoldsData { name, .. } => {
                format!("to overwrite the data, pass  --destroy-data {}", text::terminal::word(name))
            }
            Self::OtherName { name, .. } => format!("to overwrite this one, pass  --destroy-data {}", text::terminal::word(name)),
            Self::Nfs { error: ClientError::Connect { .. }, .. } => {
                "check that the server is running and that this is its port".into()
            }
            Self::Nfs { error: ClientError::Lost { .. } | ClientError::SessionLost(_), .. } => {
                "the server is gone or has restarted; repeat the command when it is back".into()
            }
            Self::Nfs { .. } if self.class().0 == 5 => {
                "the server must let uid 0 of this host write, and accept ports above 1023".into()
            }
            Self::Session(SessionError::Connect { .. }) => "check that the array is running and that this is its portal".into(),
            Self::Session(SessionError::Login { status, .. }) => match *status {
                LoginStatus::AUTHENTICATION_FAILURE => {
                    "CHAP: give the user in the URL (iscsi://USER@HOST/…) and the secret with  --chap-secret file:PATH  or  env:NAME".into()
                }
                LoginStatus::AUTHORIZATION_FAILURE => {
                    "the array does not allow this initiator; pass a name that it allows with  --initiator NAME".into()
                }
                LoginStatus::TARGET_NOT_FOUND => "the portal has no target of this name".into(),
                _ => return None,
            },
            Self::Unit(_) if self.class().0 == 3 => {
                "the array maps no logical unit to this initiator at that LUN; check the access granted there".into()
            }
            Self::Unit(ProbeError::BlockLength { .. } | ProbeError::Capacity { .. }) => {
                "no host can use such a logical unit: correct its definition on the array".into()
            }
            Self::Session(_)
            | Self::Device { error: DeviceError::Lost(_) | DeviceError::TimedOut(_), .. }
            | Self::Unit(ProbeError::Session(_) | ProbeError::Command { error: DeviceError::TimedOut(_), .. }) => {
                "the array is gone or does not respond; when it is back, repeat the command: partial results are removed automatically, or continued with --resume".into()
            }
            Self::Device { error: DeviceError::Full, .. } => {
                "the array's pool is full: grow it or free space in it, then repeat the command".into()
            }
            Self::Datastore { error: DatastoreError::Full, .. } => {
                "delete disks on the datastore, or choose a thin format".into()
            }
            Self::Datastore { error: DatastoreError::NoDatastore, .. } => {
                "create one with  windlass datastore format URL,  or leave out #NAME to address the whole logical unit".into()
            }
            Self::Datastore { error: DatastoreError::NoSuchFile(_), .. } => {
                "windlass datastore ls URL  lists the disks of the datastore".into()
            }
            Self::Datastore { error: DatastoreError::Locked { .. }, .. } => {
                "another host has it open; the lock of a dead host ends 16 s after its last heartbeat".into()
            }
            Self::Datastore { error: DatastoreError::Damaged { .. }, .. } => {
                "windlass datastore check URL  lists all damage".into()
            }
            Self::Datastore { error: DatastoreError::Changed(_), .. } => {
                "a snapshot of it was committed or deleted; repeat the command when that has finished".into()
            }
            Self::Datastore { error: DatastoreError::Partial(_), .. } => {
                "continue it with  windlass disk clone --resume,  or remove it with  windlass disk delete".into()
            }
            Self::Datastore { error: DatastoreError::HasChildren(_), .. } => {
                "name the disk on top of it; windlass datastore ls URL  shows the base of each disk".into()
            }
            _ => return None,
        };
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_an_absurd_size_is_a_failure_with_advice() {
        for error in [
            ProbeError::BlockLength { lun: 0, bytes: 0 },
            ProbeError::Capacity { lun: 0, last: u64::MAX, block_bytes: 512 },
        ] {
            let error = DiskError::from(error);
            assert_eq!((error.exit_status(), error.code()), (1, "failed"), "{error}");
            assert!(error.help().is_some_and(|help| help.contains("its definition on the array")), "{error}");
        }
    }

    /// Regression: a datastore's name, which another host has written, stood unquoted in a command
    /// to be pasted.
    #[test]
    fn a_name_in_a_command_is_one_word() {
        let other =
            |name: &str| DiskError::OtherName { given: "x".into(), name: name.into() }.help().unwrap_or_default();
        assert!(other("naa.6001405a").ends_with("--destroy-data naa.6001405a"), "{}", other("naa.6001405a"));
        assert!(other("$(id)").ends_with("--destroy-data '$(id)'"), "{}", other("$(id)"));
        let holds = DiskError::HoldsData { on: "u".into(), found: "f".into(), name: "a b".into() };
        assert!(holds.help().is_some_and(|help| help.ends_with("--destroy-data 'a b'")));
    }
}
