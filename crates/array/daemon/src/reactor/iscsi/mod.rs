//! iSCSI as a protocol of the reactor: portals, connections and their sessions, and the registration with iSNS servers.

pub(super) mod connection;
pub(super) mod directory;
pub(super) mod isns;
pub(super) mod listener;
pub(super) mod memory;
pub(super) mod movement;
pub(super) mod registry;
mod task_management;
