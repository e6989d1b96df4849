//! Configured options of the array.

use crate::{AbortOfFinishedTask, NfsConfiguration};
use ::control::{ArrayOptions, Portal};
use scsi_target::Profile;

/// Configured options of the array.
#[derive(Clone, Debug)]
pub struct ArraySetup {
    /// Options for [`::control::Control::open`].
    pub array: ArrayOptions,
    /// Limit of resident memory, in bytes.
    pub memory_bytes: u64,
    /// Portals that accept connections, in the order of the configuration.
    pub portals: Vec<Portal>,
    /// True if the portals' advertised addresses are configured.
    pub advertise_configured: bool,
    /// True if hosts may change the states of target port groups.
    pub explicit_asymmetric_access: bool,
    /// Answer of ABORT TASK for a task that does not exist.
    pub abort_of_finished_task: AbortOfFinishedTask,
    /// Presentation of every logical unit.
    pub profile: Profile,
    /// The NFS server, with the actual ports of its listeners.
    pub nfs: NfsConfiguration,
}
