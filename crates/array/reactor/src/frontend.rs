//! A protocol of the array, as the reactor sees it.
//!
//! A frontend owns its portals, connections, sessions and device server. It serves the units of the
//! reactor, and reaches other frontends only through them ([`unit::Adapter`]). It runs on the
//! reactor's thread today. The trait lends no state of the engine, so that a frontend may later
//! drive its connections on other threads and answer through messages.

use control::{Change, ConnectionCounters, Directory, LoginAttempt, RefusedLogins, Registration, SessionInfo};
use futures_util::future::LocalBoxFuture;
use std::sync::Arc;
use unit::{Adapter, ClientId};

/// Protocol through which hosts reach the array's volumes.
pub(crate) trait Frontend: Adapter {
    /// Publishes the whole directory, at the start. Every volume has its unit.
    fn load(&self, directory: &Directory);
    /// Publishes a durable change, after it has reached the units. `directory` is the state after
    /// the change.
    fn publish(&self, change: &Change, directory: &Directory);
    /// Sessions in full feature phase, by number.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Sessions that began, ended (`None`), received commands or completed one of offload since the last call.
    fn take_changed_sessions(&self) -> Vec<(u64, Option<SessionInfo>)>;
    /// Requests that a session and its connections be dropped, and returns before they are. False if
    /// no session has that number; numbers are unique over all frontends.
    fn drop_session(&self, id: u64) -> bool;
    /// Numbers of open connections and of ended ones by reason.
    fn connections(&self) -> ConnectionCounters;
    /// Refused logins since this last returned some.
    fn take_refused_logins(&self) -> Option<RefusedLogins>;
    /// Last login attempts, oldest first.
    fn logins(&self) -> Vec<Arc<LoginAttempt>>;
    /// Last login attempts, oldest first, if there is one since this last returned some.
    fn take_changed_logins(&self) -> Option<Vec<Arc<LoginAttempt>>>;
    /// Number of commands received in the open sessions.
    fn commands(&self) -> u64;
    /// Names a client of this protocol that has reserved a whole unit. The key is 0.
    fn client(&self, client: ClientId) -> Option<Registration>;
    /// Work in the background, until it is dropped.
    fn background(&self) -> LocalBoxFuture<'static, ()>;
    /// Ready when no command that the changes published since the last call forbid can take effect any
    /// more. Called once after each publication.
    fn settled(&self) -> LocalBoxFuture<'static, ()>;
    /// Lets hosts log out, then closes every connection. Ready when the last command is done, or
    /// after a bounded time.
    fn shut_down(&self) -> LocalBoxFuture<'static, ()>;
}
