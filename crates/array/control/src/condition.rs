//! What the errors of all nouns consist of: a stable code, a class, users, space, parameters.

use std::fmt;

/// Text for a full file system below the pool: of its alert, its event, and refused changes.
pub(crate) const BELOW_FULL: &str = "the file system or device below the pool is full: nothing new can be stored";
/// Advice for a full file system below the pool.
pub(crate) const BELOW_FULL_HELP: &str =
    "free space there; the array continues by itself, and acknowledged data is safe";

/// Nouns of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// A pool.
    Pool,
    /// A volume.
    Volume,
    /// A share.
    Share,
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
    /// A client of NFS.
    NfsClient,
    /// A job.
    Job,
    /// A network portal.
    Portal,
    /// A target port group.
    PortGroup,
    /// An object in the trash.
    Trash,
    /// A schedule.
    Schedule,
    /// A QoS policy.
    QosPolicy,
    /// A code.
    Code,
}

impl fmt::Display for Noun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Noun {
    /// Word of the noun in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Volume => "volume",
            Self::Share => "share",
            Self::Snapshot => "snapshot",
            Self::Host => "host",
            Self::HostGroup => "host-group",
            Self::Access => "access",
            Self::Session => "session",
            Self::NfsClient => "nfs-client",
            Self::Job => "job",
            Self::Portal => "portal",
            Self::PortGroup => "portal-group",
            Self::Trash => "trash",
            Self::Schedule => "schedule",
            Self::QosPolicy => "qos-policy",
            Self::Code => "code",
        }
    }

    /// Words for several objects.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Pool => "pools",
            Self::Volume => "volumes",
            Self::Share => "shares",
            Self::Snapshot => "snapshots",
            Self::Host => "hosts",
            Self::HostGroup => "host groups",
            Self::Access => "grants",
            Self::Session => "sessions",
            Self::NfsClient => "NFS clients",
            Self::Job => "jobs",
            Self::Portal => "portals",
            Self::PortGroup => "portal groups",
            Self::Trash => "objects in the trash",
            Self::Schedule => "schedules",
            Self::QosPolicy => "QoS policies",
            Self::Code => "codes",
        }
    }

    /// Words for one object.
    pub(crate) fn singular(self) -> &'static str {
        if self == Self::QosPolicy {
            return "QoS policy";
        }
        self.plural().trim_end_matches('s')
    }
}

/// Kind of use that prevents an action.
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
    /// A host.
    Host,
    /// A volume.
    Volume,
}

impl UserKind {
    /// Word of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Session => "session",
            Self::Snapshot => "snapshot",
            Self::HostGroup => "host-group",
            Self::Host => "host",
            Self::Volume => "volume",
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

/// Class of a condition, from which an interface chooses its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The named object does not exist.
    NotFound,
    /// The state of the array does not allow the request.
    Conflict,
    /// The object has changed since the client read it.
    Outdated,
    /// The request cannot be read.
    Malformed,
    /// The request is invalid in any state.
    Invalid,
    /// Space is lacking.
    NoSpace,
    /// The array has failed.
    Failed,
    /// The array does not take requests now.
    Unavailable,
    /// The reply did not arrive in time.
    TimedOut,
}

/// Parameters of a condition: each with its meaning.
pub(crate) type Parameters = Vec<(&'static str, String)>;

/// Space in bytes that a condition is about, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Needed by the request.
    pub needed: Option<u64>,
    /// Available.
    pub available: Option<u64>,
}

/// Condition that prevents a request. Its `Display` is a sentence for people.
pub(crate) trait Condition: fmt::Display {
    /// Stable name.
    fn code(&self) -> &'static str;
    /// Class.
    fn class(&self) -> Class;
    /// Users of the object, if they are the condition.
    fn users(&self) -> &[User] {
        &[]
    }
    /// Space, if its lack is the condition.
    fn space(&self) -> Space {
        Space::default()
    }
    /// Advice for the administrator, in terms of the resources.
    fn help(&self) -> Option<String> {
        None
    }
    /// Names that the condition and its help are about.
    fn parameters(&self) -> Parameters {
        Vec::new()
    }
}
