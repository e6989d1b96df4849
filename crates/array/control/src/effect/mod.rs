//! What a change would do: every check of the change, and none of its effects.
//!
//! A request that can say so has one plan. [`Request::run`] makes the plan and carries it out; [`DryRun`] makes the
//! same plan, under the same lock, and reports it. So no rule stands in two places.

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
    /// Word of its kind: `access`, `session`, `snapshot`, `schedule`, `job`, `host`, `volume`, `share`, `nfs-client`.
    pub kind: &'static str,
    /// Name, for people.
    pub name: String,
    /// What happens to it.
    pub why: String,
}
