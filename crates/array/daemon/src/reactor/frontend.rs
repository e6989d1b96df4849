//! A protocol of the array, as the reactor sees it.
//!
//! A frontend owns its portals, connections, sessions and device server. It serves the units of the
//! reactor, and reaches other frontends only through them ([`unit::Adapter`]). It runs on the
//! reactor's thread today. The trait lends no state of the engine, so that a frontend may later
//! drive its connections on other threads and answer through messages.

use control::{Change, ConnectionCounters, Directory, SessionInfo};
use futures_util::future::LocalBoxFuture;

/// One protocol by which hosts reach the array's volumes.
pub(crate) trait Frontend {
    /// A durable change, after it has reached the units. `directory` is the state after the change.
    fn publish(&self, change: &Change, directory: &Directory);
    /// Sessions in full feature phase, by number.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Drops a session and its connections. False when there is none of that number.
    fn drop_session(&self, id: u64) -> bool;
    /// Numbers of open connections and of ended ones by reason.
    fn connections(&self) -> ConnectionCounters;
    /// Number of commands received in the open sessions.
    fn commands(&self) -> u64;
    /// Ready when no command has an effect any more that the published changes forbid.
    fn settled(&self) -> LocalBoxFuture<'static, ()>;
    /// Lets hosts log out, then closes every connection. Ready when the last command is done, or
    /// after a bounded time.
    fn shut_down(&self) -> LocalBoxFuture<'static, ()>;
}
