//! Difference between an existing object and the request for a new one of its name, for the error
//! [`Exists`](crate::ControlError::Exists).

use jiff::Timestamp;
use std::fmt;
use text::size::exact;

/// Property of an existing object that keeps it from being the requested new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Time at which the existing volume was created: its content is not that of the source now.
    Created(Timestamp),
    /// Time at which the existing snapshot was taken.
    Taken(Timestamp),
    /// Size of the existing volume in bytes.
    Size(u64),
    /// The existing volume is a clone.
    Clone,
    /// State of the write cache.
    WriteCache(bool),
    /// The existing volume is thin.
    Thin,
    /// The existing volume is thick, with this overwrite reserve in percent.
    Thick(u8),
    /// State of zero detection.
    ZeroDetection(bool),
    /// Owner and group of the existing share's root directory.
    Owner(u32, u32),
    /// Permission bits of the existing share's root directory.
    Mode(u32),
    /// Names of the protocols of the existing share.
    Protocols(&'static str),
    /// Copy policy of the existing share.
    Copy(&'static str),
    /// Quota of the existing share in bytes.
    Quota(Option<u64>),
    /// The existing host has other initiator names.
    InitiatorNames,
    /// The existing host has other addresses.
    Addresses,
    /// The existing host has other CHAP credentials.
    ChapCredentials,
    /// The existing group has other hosts.
    Hosts,
    /// The existing policy has other limits.
    Limits,
}

/// Continues the sentence "… exists already".
impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switch = |on: bool| if on { "on" } else { "off" };
        match self {
            Self::Created(time) => write!(formatter, ", created {time:.0}"),
            Self::Taken(time) => write!(formatter, ", taken {time:.0}"),
            Self::Size(bytes) => write!(formatter, " with {}", exact(*bytes)),
            Self::Clone => formatter.write_str(" as a clone"),
            Self::WriteCache(on) => write!(formatter, " with its write cache {}", switch(*on)),
            Self::Thin => formatter.write_str(" as a thin volume"),
            Self::Thick(percent) => write!(formatter, " as a thick volume with an overwrite reserve of {percent} %"),
            Self::ZeroDetection(on) => write!(formatter, " with zero detection {}", switch(*on)),
            Self::Owner(uid, gid) => write!(formatter, " with the owner {uid}:{gid}"),
            Self::Mode(mode) => write!(formatter, " with mode {mode:04o}"),
            Self::Protocols(protocols) => write!(formatter, " with the protocols {protocols}"),
            Self::Copy(policy) => write!(formatter, " with the copy policy {policy}"),
            Self::Quota(Some(bytes)) => write!(formatter, " with a quota of {}", exact(*bytes)),
            Self::Quota(None) => formatter.write_str(" without a quota"),
            Self::Addresses => formatter.write_str(" with other addresses"),
            Self::InitiatorNames => formatter.write_str(" with other initiator names"),
            Self::ChapCredentials => formatter.write_str(" with other CHAP credentials"),
            Self::Hosts => formatter.write_str(" with other hosts"),
            Self::Limits => formatter.write_str(" with other limits"),
        }
    }
}
