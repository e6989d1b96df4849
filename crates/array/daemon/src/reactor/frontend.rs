//! A protocol of the array, as the reactor sees it.
//!
//! A frontend owns its portals, connections and sessions. It runs on the reactor's thread today. Nothing here lends state of the
//! engine out, so that a frontend may later drive its connections on threads of their own and answer through messages.

use block::VolumeId;
use control::{Change, ConnectionCounters, Directory, SessionInfo};
use futures_util::future::LocalBoxFuture;
use scsi_target::NexusId;

/// One protocol by which hosts reach the array's volumes.
pub(crate) trait Frontend {
    /// A durable change, after it has reached the units. `directory` is the state after the change.
    fn publish(&self, change: &Change, directory: &Directory);
    /// Sessions in full feature phase, by number.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Drops a session and its connections. False when there is none of that number.
    fn drop_session(&self, id: u64) -> bool;
    /// Connections, and how earlier ones ended.
    fn connections(&self) -> ConnectionCounters;
    /// Commands received in the sessions that exist.
    fn commands(&self) -> u64;
    /// Ends the tasks of these nexuses on a volume without a response. Ready when none of them can have an effect any more.
    fn abort(&self, volume: VolumeId, nexuses: &[NexusId]) -> LocalBoxFuture<'static, ()>;
    /// Ready when no command has an effect any more that the published changes forbid.
    fn settled(&self) -> LocalBoxFuture<'static, ()>;
    /// Lets hosts log out, then closes every connection. Ready when their last command is done, or after a bounded time.
    fn shut_down(&self) -> LocalBoxFuture<'static, ()>;
}
