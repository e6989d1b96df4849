//! What a change would do: every check of the change, and none of its effects.
//!
//! A request that can say so has one plan. [`Request::run`] makes the plan and carries it out; [`DryRun`] makes the
//! same plan, under the same lock, and reports it. So no rule stands in two places.
//!
//! [`Request::run`]: crate::request::Request::run

mod dry_run;
mod rehearsal;

pub use dry_run::{DryRun, Rehearsed};
pub use rehearsal::Rehearsal;
pub(crate) use rehearsal::names_in_words;

use crate::error::ControlError;
use crate::pools::state::Warning;

/// What a change would do in the present state of the array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Bytes of the pool that become free: at once, or when the trash gives up what the change puts there. Absent if
    /// the change is not about space, if nobody can know them before, and while they are being counted.
    pub frees_bytes: Option<u64>,
    /// Bytes of the pool that the change takes; absent if it takes none, but for a few pages.
    pub takes_bytes: Option<u64>,
    /// What stops working, or is gone afterwards.
    pub breaks: Vec<Broken>,
    /// Consequences that need attention.
    pub warnings: Vec<Warning>,
    /// Reason why the change would be refused; absent if it would be made.
    pub problem: Option<ControlError>,
}

/// Object that a change breaks, besides the object that is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its kind.
    pub kind: BrokenKind,
    /// Name, for people.
    pub name: String,
    /// What happens to it.
    pub why: String,
}

/// Kind of an object that a change breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenKind {
    /// A grant of a volume, or a rule of a share.
    Access,
    /// A file of a share.
    File,
    /// A host.
    Host,
    /// A host group.
    HostGroup,
    /// A name by which a host is known.
    Initiator,
    /// A job.
    Job,
    /// A registration of a host for persistent reservations.
    Registration,
    /// A schedule.
    Schedule,
    /// A session of a host.
    Session,
    /// A share.
    Share,
    /// A snapshot.
    Snapshot,
    /// A volume.
    Volume,
}

impl BrokenKind {
    /// All kinds, in the order of their names.
    pub const ALL: [Self; 12] = [
        Self::Access,
        Self::File,
        Self::Host,
        Self::HostGroup,
        Self::Initiator,
        Self::Job,
        Self::Registration,
        Self::Schedule,
        Self::Session,
        Self::Share,
        Self::Snapshot,
        Self::Volume,
    ];

    /// Word of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::File => "file",
            Self::Host => "host",
            Self::HostGroup => "host-group",
            Self::Initiator => "initiator",
            Self::Job => "job",
            Self::Registration => "registration",
            Self::Schedule => "schedule",
            Self::Session => "session",
            Self::Share => "share",
            Self::Snapshot => "snapshot",
            Self::Volume => "volume",
        }
    }
}
