//! What surrounds a server, beyond the network: checks that need it are skipped where there is only a URL.

use std::fmt::Debug;

/// Clients that the server remembers over a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// Those of the durable records: they may reclaim.
    Recorded,
    /// None, as if all had ended in order.
    Nobody,
}

/// A harness around a server.
pub trait Harness: Debug + Send + Sync {
    /// Ends the server at once, as a crash does, and starts it again with what is durable, under the same address.
    /// Returns when it takes connections. The error says why it does not.
    fn restart(&self, remembered: Remembered) -> Result<(), String>;
}
