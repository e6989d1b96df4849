//! Errors of requests. Each condition has a stable code, a class, parameters and, if possible,
//! advice. The commands that follow the advice belong to the interfaces.
//!
//! Conditions of one noun are an enum in its folder (`volumes/error.rs`); [`ControlError`] composes
//! them and has those that every noun can have.

use crate::access::error::AccessError;
use crate::condition::{Class, Condition, Noun, Space, User, UserKind};
use crate::difference::Difference;
use crate::files::error::FileError;
use crate::hosts::error::HostError;
use crate::jobs::error::JobError;
use crate::nfs_clients::error::NfsClientError;
use crate::pools::error::PoolRefusal;
use crate::ports::error::PortError;
use crate::qos::error::QosError;
use crate::shares::error::ShareError;
use crate::snapshots::error::SnapshotError;
use crate::trash::error::TrashError;
use crate::volumes::error::VolumeError;
use pool::{PoolError, PoolSpace};
use thiserror::Error;
use uuid::Uuid;

/// Reason why a request failed. Nothing was changed, except that [`Self::TimedOut`] and a pool that stopped
/// leave it open.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ControlError {
    /// Condition of a volume.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// Condition of a share.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// Condition of a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Condition of a snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Condition of the trash.
    #[error(transparent)]
    Trash(#[from] TrashError),
    /// Condition of a grant.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Condition of a host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Condition of a portal or target port group.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Condition of a pool.
    #[error(transparent)]
    Pool(#[from] PoolRefusal),
    /// Condition of a job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Condition of clients of NFS.
    #[error(transparent)]
    NfsClient(#[from] NfsClientError),
    /// Condition of a QoS policy.
    #[error(transparent)]
    Qos(#[from] QosError),
    /// No such object.
    #[error("there is no {noun} {name}")]
    NotFound {
        /// Noun of the object.
        noun: Noun,
        /// Requested name.
        name: String,
    },
    /// The object existed when the job began.
    #[error("{noun} {name} was deleted meanwhile")]
    DeletedMeanwhile {
        /// Noun of the object.
        noun: Noun,
        /// Name at the start of the job.
        name: String,
    },
    /// The name belongs to another object, or to one with other parameters.
    #[error("{noun} {name} exists already{}", difference.as_ref().map(Difference::to_string).unwrap_or_default())]
    Exists {
        /// Noun of the existing object.
        noun: Noun,
        /// The name.
        name: String,
        /// Difference of the existing object; absent if its name alone was requested.
        difference: Option<Difference>,
    },
    /// The object is not as the client knows it.
    #[error("the object {id} was changed by somebody else meanwhile")]
    ChangedMeanwhile {
        /// Id of the object.
        id: Uuid,
    },
    /// The object cannot be deleted while it is used.
    #[error("{noun} {name} is in use")]
    InUse {
        /// Noun of the object.
        noun: Noun,
        /// Name of the object.
        name: String,
        /// Users of the object.
        users: Vec<User>,
    },
    /// Invalid name.
    #[error("{name:?} cannot be the name of a {noun}: {reason}")]
    InvalidName {
        /// Noun of the object to be named.
        noun: Noun,
        /// Rejected text.
        name: String,
        /// Violated rule.
        reason: &'static str,
    },
    /// A list was requested in a way that it does not support.
    #[error("{0}")]
    InvalidQuery(String),
    /// Setting outside its range, or in contradiction to another one.
    #[error("{0}")]
    InvalidSetting(String),
    /// The stored state contradicts itself or cannot be read.
    #[error("the array's state is damaged: {reason}")]
    Damaged {
        /// Description of the damage.
        reason: String,
    },
    /// The array is starting or stopping.
    #[error("the array is not running")]
    NotRunning,
    /// Too many requests are waiting.
    #[error("the array has too many requests waiting")]
    Busy,
    /// No reply in time; the change may still take effect.
    #[error("the array did not answer within {seconds} s; the request may still take effect")]
    TimedOut {
        /// Time waited.
        seconds: u64,
    },
}

impl ControlError {
    /// Condition of one noun, if it is one.
    fn of_noun(&self) -> Option<&dyn Condition> {
        match self {
            Self::Volume(error) => Some(error),
            Self::Share(error) => Some(error),
            Self::File(error) => Some(error),
            Self::Snapshot(error) => Some(error),
            Self::Trash(error) => Some(error),
            Self::Access(error) => Some(error),
            Self::Host(error) => Some(error),
            Self::Port(error) => Some(error),
            Self::Pool(error) => Some(error),
            Self::Job(error) => Some(error),
            Self::NfsClient(error) => Some(error),
            Self::Qos(error) => Some(error),
            _ => None,
        }
    }

    /// Stable name and class of the condition.
    fn code_and_class(&self) -> (&'static str, Class) {
        match self {
            Self::Volume(error) => (error.code(), error.class()),
            Self::Share(error) => (error.code(), error.class()),
            Self::File(error) => (error.code(), error.class()),
            Self::Snapshot(error) => (error.code(), error.class()),
            Self::Trash(error) => (error.code(), error.class()),
            Self::Access(error) => (error.code(), error.class()),
            Self::Host(error) => (error.code(), error.class()),
            Self::Port(error) => (error.code(), error.class()),
            Self::Pool(error) => (error.code(), error.class()),
            Self::Job(error) => (error.code(), error.class()),
            Self::NfsClient(error) => (error.code(), error.class()),
            Self::Qos(error) => (error.code(), error.class()),
            Self::NotFound { .. } => ("not-found", Class::NotFound),
            Self::DeletedMeanwhile { .. } => ("deleted", Class::Conflict),
            Self::Exists { .. } => ("exists", Class::Conflict),
            Self::ChangedMeanwhile { .. } => ("changed-meanwhile", Class::Outdated),
            Self::InUse { .. } => ("in-use", Class::Conflict),
            Self::InvalidName { .. } => ("invalid-name", Class::Invalid),
            Self::InvalidQuery(_) => ("invalid-request", Class::Malformed),
            Self::InvalidSetting(_) => ("invalid-setting", Class::Invalid),
            Self::Damaged { .. } => ("damaged", Class::Failed),
            Self::NotRunning => ("not-running", Class::Unavailable),
            Self::Busy => ("busy", Class::Unavailable),
            Self::TimedOut { .. } => ("timed-out", Class::TimedOut),
        }
    }

    /// Stable name of the condition.
    pub fn code(&self) -> &'static str {
        self.code_and_class().0
    }

    /// Class of the condition.
    pub fn class(&self) -> Class {
        self.code_and_class().1
    }

    /// Users of the object, if they are the condition.
    pub fn users(&self) -> &[User] {
        match self {
            Self::InUse { users, .. } => users,
            _ => self.of_noun().map_or(&[], Condition::users),
        }
    }

    /// Space, if its lack is the condition.
    pub fn space(&self) -> Space {
        self.of_noun().map(Condition::space).unwrap_or_default()
    }

    /// Advice for the administrator, in terms of the resources. Each interface adds its own way to
    /// follow the advice, from the code and the parameters.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { noun: Noun::Snapshot, name } if name.contains('@') => {
                format!("list the snapshots of {}", volume_part(name))
            }
            Self::NotFound { noun, .. } => format!("list the {}", noun.plural()),
            Self::Exists { noun, .. } => format!("choose another name, or use the existing {}", noun.singular()),
            Self::InUse { noun, name, users } => return in_use_help(*noun, name, users),
            Self::Damaged { .. } => "stop the array and check its pool".to_owned(),
            Self::NotRunning => {
                "try again when the array has started; if it does not start, its log says why".to_owned()
            }
            Self::ChangedMeanwhile { .. } => {
                "read the object again, and repeat the change if it is still wanted".to_owned()
            }
            Self::Busy => "try again in a moment, with fewer requests at a time".to_owned(),
            _ => return self.of_noun()?.help(),
        })
    }

    /// Names that the condition and its help are about, each with its meaning.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let (noun, name) = match self {
            Self::NotFound { noun, name }
            | Self::DeletedMeanwhile { noun, name }
            | Self::Exists { noun, name, .. }
            | Self::InUse { noun, name, .. }
            | Self::InvalidName { noun, name, .. } => (*noun, name),
            _ => return self.of_noun().map(Condition::parameters).unwrap_or_default(),
        };
        let mut parameters = vec![("noun", noun.to_string()), ("name", name.clone())];
        if noun == Noun::Snapshot && name.contains('@') {
            parameters.push(("volume", volume_part(name)));
        }
        parameters
    }

    /// Converts a pool's error to an administrator's terms.
    pub(crate) fn from_pool(error: PoolError, space: &PoolSpace) -> Self {
        match error {
            PoolError::PoolFull if space.full_below => PoolRefusal::BelowFull.into(),
            PoolError::PoolFull => PoolRefusal::NoSpace { available_bytes: space.free_bytes }.into(),
            PoolError::NoRoomForReservation { needed_bytes, available_bytes } => {
                PoolRefusal::NoRoomForReservation { needed_bytes, available_bytes }.into()
            }
            PoolError::AboveCeiling { needed_bytes, available_bytes } => {
                let (needed_bytes, available_bytes) = (Some(needed_bytes), Some(available_bytes));
                ShareError::QuotaExceeded { needed_bytes, available_bytes }.into()
            }
            PoolError::BadCeiling { ceiling_bytes, .. } => {
                ShareError::InvalidQuota { quota_bytes: ceiling_bytes }.into()
            }
            PoolError::BadReservation { percent } => VolumeError::BadReservation { percent }.into(),
            PoolError::CannotGrow(reason) => PoolRefusal::CannotGrow { reason }.into(),
            PoolError::Stopped(reason) => PoolRefusal::Stopped { reason }.into(),
            PoolError::BadSize { size_bytes, max_bytes } => VolumeError::InvalidSize { size_bytes, max_bytes }.into(),
            PoolError::Damaged(reason) => Self::Damaged { reason },
            PoolError::Busy(reason) => PoolRefusal::Busy { reason }.into(),
            // Commands check these before they ask the pool.
            PoolError::NoSuchObject(_)
            | PoolError::ObjectExists(_)
            | PoolError::NoSnapshot(_)
            | PoolError::NoVolume(_)
            | PoolError::DifferenceEnded(_)
            | PoolError::Locked { .. }
            | PoolError::BadDocument { .. } => Self::Damaged { reason: error.to_string() },
        }
    }
}

/// Advice for an object that cannot be deleted while it is used.
fn in_use_help(noun: Noun, name: &str, users: &[User]) -> Option<String> {
    let used_by = |kind| users.iter().any(|user| user.kind == kind);
    Some(match noun {
        Noun::Volume | Noun::Share => "revoke access first".to_owned(),
        Noun::HostGroup => "revoke its access first".to_owned(),
        Noun::QosPolicy => "detach its volumes and hosts first, or delete it by force".to_owned(),
        Noun::Host if used_by(UserKind::HostGroup) => "remove it from its groups first".to_owned(),
        Noun::Host if used_by(UserKind::Access) => "revoke its access first".to_owned(),
        Noun::Host => format!("log out on {name} first, or drop its sessions"),
        _ => return None,
    })
}

/// Volume in `VOLUME@SNAPSHOT`.
fn volume_part(name: &str) -> String {
    name.split('@').next().unwrap_or_default().to_owned()
}
