//! Errors of requests. Each condition has a stable code, a class, parameters and, if possible,
//! advice. The commands that follow the advice belong to the interfaces.
//!
//! Conditions of one noun are an enum in its folder (`volumes/error.rs`); [`ControlError`] composes
//! them and has those that every noun can have.

use crate::Grantee;
use pool::PoolError;
use std::fmt;
use thiserror::Error;

/// Nouns of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// A pool.
    Pool,
    /// A volume.
    Volume,
    /// A snapshot.
    Snapshot,
    /// A host.
    Host,
    /// A host group.
    HostGroup,
    /// A grant.
    Access,
    /// A session.
    Session,
    /// A job.
    Job,
    /// A network portal.
    Portal,
    /// A target port group.
    PortGroup,
}

impl fmt::Display for Noun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Pool => "pool",
            Self::Volume => "volume",
            Self::Snapshot => "snapshot",
            Self::Host => "host",
            Self::HostGroup => "host-group",
            Self::Access => "access",
            Self::Session => "session",
            Self::Job => "job",
            Self::Portal => "portal",
            Self::PortGroup => "portal-group",
        })
    }
}

/// What kind of use stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserKind {
    /// A grant.
    Access,
    /// A live session.
    Session,
    /// A snapshot.
    Snapshot,
    /// A host group that a host is in.
    HostGroup,
}

impl UserKind {
    /// Word of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Session => "session",
            Self::Snapshot => "snapshot",
            Self::HostGroup => "host-group",
        }
    }
}

/// User of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Kind of use.
    pub kind: UserKind,
    /// Name of the user, for people.
    pub description: String,
}

/// Why an action was not done. Nothing was changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ControlError {
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
    /// A snapshot's name without its volume, and several volumes have one of that name.
    #[error("snapshot {name} is ambiguous: it is one of {candidates}")]
    AmbiguousName {
        /// The name.
        name: String,
        /// The full names, separated by commas.
        candidates: String,
    },
    /// The name belongs to another object, or to one with other parameters.
    #[error("{noun} {name} exists already{difference}")]
    Exists {
        /// Noun of the new object.
        noun: Noun,
        /// The name.
        name: String,
        /// Difference, starting with a space; empty if it is not reported.
        difference: String,
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
    /// Sessions see the volume that is to be rolled back.
    #[error("volume {name} is in use")]
    RollbackInUse {
        /// The volume.
        name: String,
        /// The snapshot.
        snapshot: String,
        /// The sessions.
        users: Vec<User>,
    },
    /// The volume has snapshots, and the request did not say that they go too.
    #[error("volume {name} has {} snapshot{}", users.len(), if users.len() == 1 { "" } else { "s" })]
    HasSnapshots {
        /// The volume.
        name: String,
        /// Its snapshots.
        users: Vec<User>,
    },
    /// Hosts would be left without an active path; without users, the array would have no active port.
    #[error("{}", if users.is_empty() { "no port of the array would be active" } else { "hosts would have no active path left" })]
    LastPath {
        /// Noun and words that were asked for, for the help.
        asked: String,
        /// The hosts.
        users: Vec<User>,
    },
    /// Another grant has the logical unit number.
    #[error("LUN {lun} is taken by volume {volume} for {grantee}")]
    LunTaken {
        /// The number asked for.
        lun: u16,
        /// The volume that has it.
        volume: String,
        /// Grantee that holds the number or volume.
        grantee: Grantee,
    },
    /// The volume is granted already in a way that excludes this one.
    #[error("volume {volume} is granted to {grantee} already, as LUN {lun}")]
    AlreadyGranted {
        /// The volume.
        volume: String,
        /// Grantee that holds the number or volume.
        grantee: Grantee,
        /// As which number.
        lun: u16,
    },
    /// All logical unit numbers are in use.
    #[error("no LUN is free for {grantee}: 0 to 16383 are all in use")]
    NoFreeLun {
        /// Grantee whose numbers are all in use.
        grantee: Grantee,
    },
    /// Not a name.
    #[error("{name:?} cannot be the name of a {noun}: {reason}")]
    InvalidName {
        /// Noun of the object to be named.
        noun: Noun,
        /// Rejected text.
        name: String,
        /// Violated rule.
        reason: &'static str,
    },
    /// Not an initiator name.
    #[error("{name:?} is not an initiator name: {reason}")]
    InvalidInitiatorName {
        /// The text.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The initiator name belongs to another host.
    #[error("initiator name {initiator} belongs to host {host}")]
    InitiatorNameTaken {
        /// The name.
        initiator: String,
        /// Its owner.
        host: String,
    },
    /// Unusable CHAP credentials.
    #[error("{reason}")]
    InvalidChap {
        /// What is wrong.
        reason: &'static str,
    },
    /// Not a logical unit number.
    #[error("{lun} is not a LUN: 0 to 16383 are")]
    InvalidLun {
        /// The number asked for.
        lun: u16,
    },
    /// Not a size.
    #[error(
        "{size_bytes} bytes is not a valid size: sizes are multiples of 512 from 512 to {max_bytes} bytes (16 TiB)"
    )]
    InvalidSize {
        /// The size asked for.
        size_bytes: u64,
        /// The largest.
        max_bytes: u64,
    },
    /// No size, and nothing to take it from.
    #[error("volume {name} needs a size")]
    SizeMissing {
        /// The volume to be made.
        name: String,
    },
    /// Smaller than now, or than the source.
    #[error("volume {name} cannot have {size_bytes} bytes: {reason} has {present_bytes}, and volumes do not shrink")]
    WouldShrink {
        /// The volume.
        name: String,
        /// The size asked for.
        size_bytes: u64,
        /// The size it has.
        present_bytes: u64,
        /// What has it: `it` or the source's name.
        reason: String,
    },
    /// The pool has no space for the change.
    #[error("the pool has no space for this change ({available_bytes} bytes are free)")]
    NoSpace {
        /// Free bytes.
        available_bytes: u64,
    },
    /// A reservation, or a snapshot or clone of a thick volume, needs more than is free and not promised.
    #[error(
        "{needed_bytes} bytes would have to be kept free for the reservation, and {available_bytes} are free and not promised"
    )]
    NoRoomForReservation {
        /// Bytes needed.
        needed_bytes: u64,
        /// Bytes free and not promised.
        available_bytes: u64,
    },
    /// The volumes would have more together than the pool's limit allows.
    #[error(
        "the volumes would have {} bytes together, and the limit is {limit_bytes} ({percent} % of the pool)",
        provisioned_bytes.saturating_add(*needed_bytes)
    )]
    OverCommitted {
        /// What the volumes have together.
        provisioned_bytes: u64,
        /// What the request adds.
        needed_bytes: u64,
        /// What they may have together.
        limit_bytes: u64,
        /// The limit as a share of the pool.
        percent: u32,
    },
    /// Not a share.
    #[error("an overwrite reserve of {percent} % is not possible: 0 to 100")]
    BadReservation {
        /// What was asked for.
        percent: u8,
    },
    /// A thin volume has no overwrite reserve.
    #[error("volume {name} is thin: only a thick volume has an overwrite reserve")]
    NotThick {
        /// The volume.
        name: String,
    },
    /// A setting outside its range, or that contradicts another.
    #[error("{0}")]
    InvalidSetting(String),
    /// The pool cannot be made larger that way.
    #[error("the pool cannot grow: {reason}")]
    CannotGrow {
        /// Why.
        reason: String,
    },
    /// The pool has no time or space for it now.
    #[error("{reason}")]
    PoolBusy {
        /// Why.
        reason: String,
    },
    /// The job has ended already.
    #[error("job {id} is {state} already")]
    JobEnded {
        /// The job.
        id: String,
        /// The word for its state.
        state: &'static str,
    },
    /// A sanitize operation is nobody's to end.
    #[error(
        "job {id} cannot be {wanted}: a sanitize operation that a host has begun goes on until it is done, whatever happens (SBC-4 §4.11)"
    )]
    SanitizeGoesOn {
        /// The job.
        id: String,
        /// What was asked for.
        wanted: &'static str,
    },
    /// A sanitize operation failed.
    #[error(
        "sanitizing volume {volume} has failed: {reason}; the volume answers no reads or writes until it is sanitized again"
    )]
    SanitizeFailed {
        /// The volume.
        volume: String,
        /// Why.
        reason: String,
    },
    /// The pool stopped.
    #[error("the pool stopped after a media error: {reason}")]
    PoolStopped {
        /// What happened.
        reason: String,
    },
    /// State that contradicts itself or cannot be read.
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
    /// The stable name of the condition.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not-found",
            Self::DeletedMeanwhile { .. } => "deleted",
            Self::AmbiguousName { .. } => "ambiguous-name",
            Self::Exists { .. } => "exists",
            Self::InUse { .. } | Self::RollbackInUse { .. } => "in-use",
            Self::HasSnapshots { .. } => "has-snapshots",
            Self::LastPath { .. } => "last-path",
            Self::LunTaken { .. } => "lun-taken",
            Self::AlreadyGranted { .. } => "already-granted",
            Self::NoFreeLun { .. } => "no-free-lun",
            Self::InvalidName { .. } => "invalid-name",
            Self::InvalidInitiatorName { .. } => "invalid-initiator-name",
            Self::InitiatorNameTaken { .. } => "initiator-name-taken",
            Self::InvalidChap { .. } => "invalid-chap",
            Self::InvalidLun { .. } => "invalid-lun",
            Self::InvalidSize { .. } => "invalid-size",
            Self::SizeMissing { .. } => "size-missing",
            Self::WouldShrink { .. } => "would-shrink",
            Self::NoSpace { .. } => "no-space",
            Self::NoRoomForReservation { .. } => "no-space",
            Self::OverCommitted { .. } => "over-commitment",
            Self::BadReservation { .. } => "invalid-reservation",
            Self::NotThick { .. } => "not-thick",
            Self::InvalidSetting(_) => "invalid-setting",
            Self::CannotGrow { .. } => "cannot-grow",
            Self::PoolBusy { .. } => "pool-busy",
            Self::JobEnded { .. } => "job-ended",
            Self::SanitizeGoesOn { .. } => "sanitize-goes-on",
            Self::SanitizeFailed { .. } => "sanitize-failed",
            Self::PoolStopped { .. } => "pool-stopped",
            Self::Damaged { .. } => "damaged",
            Self::NotRunning => "not-running",
            Self::Busy => "busy",
            Self::TimedOut { .. } => "timed-out",
        }
    }

    /// Who uses the object, when that is the condition.
    pub fn users(&self) -> &[User] {
        match self {
            Self::InUse { users, .. }
            | Self::RollbackInUse { users, .. }
            | Self::HasSnapshots { users, .. }
            | Self::LastPath { users, .. } => users,
            _ => &[],
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NotFound { noun: Noun::Access, .. } => Some("list what is granted:  windlass access list".to_owned()),
            Self::NotFound { noun: Noun::Snapshot, name } if name.contains('@') => {
                let volume = name.split('@').next().unwrap_or_default();
                Some(format!("list what there is:  windlass snapshot list {volume}"))
            }
            Self::NotFound { noun, .. } => Some(format!("list what there is:  windlass {noun} list")),
            Self::AmbiguousName { .. } => Some("write VOLUME@SNAPSHOT".to_owned()),
            Self::InUse { noun: Noun::Volume, name, .. } => {
                Some(format!("revoke access first:  windlass access revoke {name} --all"))
            }
            Self::InUse { noun: Noun::HostGroup, name, .. } => {
                Some(format!("revoke its access first:  windlass access revoke VOLUME --group {name}"))
            }
            Self::InUse { noun: Noun::Host, name, users } if users.iter().any(|user| user.kind == UserKind::HostGroup) => {
                Some(format!("remove it from its groups first:  windlass host-group set GROUP --remove {name}"))
            }
            Self::InUse { noun: Noun::Host, name, users } => {
                Some(if users.iter().any(|user| user.kind == UserKind::Access) {
                    format!("revoke its access first:  windlass access revoke VOLUME --host {name}")
                } else {
                    format!("log out on {name} first, or:  windlass session drop ID")
                })
            }
            Self::RollbackInUse { name, snapshot, .. } => Some(format!(
                "unmount and log out there first, or, when nobody uses it:  windlass volume rollback {name} {snapshot} --force"
            )),
            Self::HasSnapshots { name, .. } => {
                Some(format!("delete them too:  windlass volume delete {name} --with-snapshots"))
            }
            Self::LastPath { asked, .. } => {
                let (noun, rest) = asked.split_once(' ').unwrap_or((asked, ""));
                Some(format!("give them another path first, or:  windlass {noun} set {rest} --force"))
            }
            Self::LunTaken { .. } => Some("leave --lun out to get the lowest free one".to_owned()),
            Self::AlreadyGranted { volume, grantee, .. } => {
                let grantee = match grantee {
                    Grantee::Any => "--any".to_owned(),
                    Grantee::Host(host) => format!("--host {host}"),
                    Grantee::Group(group) => format!("--group {group}"),
                };
                Some(format!("revoke that first:  windlass access revoke {volume} {grantee}"))
            }
            Self::SizeMissing { name } => Some(format!("windlass volume create {name} --size 100G")),
            Self::InitiatorNameTaken { host, .. } => Some(format!("see:  windlass host show {host}")),
            Self::NoSpace { .. } => {
                Some("delete volumes or snapshots, unmap in the hosts; see:  windlass pool show".to_owned())
            }
            Self::NoRoomForReservation { .. } => Some(
                "delete volumes or snapshots, grow the pool, or lower a reserve:  windlass volume set NAME --overwrite-reserve 0"
                    .to_owned(),
            ),
            Self::OverCommitted { .. } => {
                Some("grow the pool, or raise the limit:  windlass pool set POOL --commitment 250%".to_owned())
            }
            Self::NotThick { name } => Some(format!("windlass volume set {name} --reserve thick --overwrite-reserve 50")),
            Self::CannotGrow { .. } => Some("see its size:  windlass pool show".to_owned()),
            Self::PoolBusy { .. } => Some("try again later".to_owned()),
            Self::JobEnded { .. } => Some("windlass job list".to_owned()),
            Self::SanitizeGoesOn { id, .. } => Some(format!(
                "wait for it:  windlass job wait {id}\n      what goes with it is the volume as a whole:  windlass volume delete VOLUME"
            )),
            Self::SanitizeFailed { .. } => {
                Some("let a host send SANITIZE again, or EXIT FAILURE MODE (sg_sanitize --fail), or delete the volume".to_owned())
            }
            Self::PoolStopped { .. } => Some(
                "see the log, repair the medium, restart:  windlass pool check FILE tells what is intact".to_owned(),
            ),
            Self::Damaged { .. } => Some("stop the array and look:  windlass pool check FILE".to_owned()),
            Self::Exists { noun, name, .. } => {
                Some(format!("choose another name; this one is shown by  windlass {noun} show {name}"))
            }
            Self::InUse { .. }
            | Self::DeletedMeanwhile { .. }
            | Self::NoFreeLun { .. }
            | Self::InvalidName { .. }
            | Self::InvalidInitiatorName { .. }
            | Self::InvalidChap { .. }
            | Self::InvalidLun { .. }
            | Self::InvalidSize { .. }
            | Self::WouldShrink { .. }
            | Self::BadReservation { .. }
            | Self::InvalidSetting(_)
            | Self::NotRunning
            | Self::Busy
            | Self::TimedOut { .. } => None,
        }
    }

    /// What the pool's error means to an administrator.
    pub(crate) fn from_pool(error: PoolError, available_bytes: u64) -> Self {
        match error {
            PoolError::PoolFull => Self::NoSpace { available_bytes },
            PoolError::NoRoomForReservation { needed_bytes, available_bytes } => {
                Self::NoRoomForReservation { needed_bytes, available_bytes }
            }
            PoolError::BadReservation { percent } => Self::BadReservation { percent },
            PoolError::CannotGrow(reason) => Self::CannotGrow { reason },
            PoolError::Stopped(reason) => Self::PoolStopped { reason },
            PoolError::BadSize { size_bytes, max_bytes } => Self::InvalidSize { size_bytes, max_bytes },
            PoolError::Damaged(reason) => Self::Damaged { reason },
            PoolError::Busy(reason) => Self::PoolBusy { reason },
            PoolError::NoSuchObject(_) | PoolError::ObjectExists(_) | PoolError::BadDocument { .. } => {
                Self::Damaged { reason: error.to_string() }
            }
        }
    }
}
