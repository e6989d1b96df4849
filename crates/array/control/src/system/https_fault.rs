//! Reason why a configured HTTPS listener does not serve.

use std::net::SocketAddr;

/// Reason why REST over TLS is not served, although it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsFault {
    /// Configured address.
    pub address: SocketAddr,
    /// Description of the problem.
    pub reason: String,
    /// Advice for the administrator.
    pub help: &'static str,
}
