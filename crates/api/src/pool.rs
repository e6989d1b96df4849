//! The pool and its space.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A pool. `size_bytes = used_bytes + free_bytes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pool {
    /// Name.
    pub name: String,
    /// Whether it serves I/O.
    pub state: PoolState,
    /// Why it stopped; absent unless `state` is `stopped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_reason: Option<String>,
    /// The whole pool.
    pub size_bytes: u64,
    /// Everything that cannot take new data.
    pub used_bytes: u64,
    /// What new data can use.
    pub free_bytes: u64,
    /// Log, superblocks, space map and tree pages; part of `used_bytes`.
    pub metadata_bytes: u64,
    /// Sum of the volumes' sizes.
    pub provisioned_bytes: u64,
    /// Sum of what the volumes have mapped; shared blocks count for each volume that maps them.
    pub mapped_bytes: u64,
    /// Number of volumes.
    pub volumes: u64,
    /// Number of snapshots.
    pub snapshots: u64,
}

/// Whether a pool serves I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolState {
    /// Serving.
    Healthy,
    /// Serving, but writes that need new space fail.
    Full,
    /// Stopped after an error of its medium; nothing more is acknowledged.
    Stopped,
}
