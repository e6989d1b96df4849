//! What a running array measures of itself. Each array has its own; the reactor and its executors note, and the
//! management plane reads on another thread.

pub mod data_cache;
pub mod load;
pub mod nfs_use;
pub mod turns;

use data_cache::NotedUse;
use load::Loads;
use turns::Turns;

/// Measurements of one array.
#[derive(Debug, Default)]
pub struct Measurements {
    /// Cache of data blocks.
    pub data_cache: NotedUse,
    /// The NFS server.
    pub nfs: nfs_use::NotedUse,
    /// Longest turns of the reactor's pump.
    pub turns: Turns,
    /// Processor time of the threads that serve hosts.
    pub loads: Loads,
}
