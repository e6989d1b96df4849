//! Who calls.

use onc_rpc::auth::Credential;
use std::net::SocketAddr;
use vfs::Timestamp;

/// The client's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Address and port.
    pub address: SocketAddr,
    /// Number of the connection, not used for another one in this run.
    pub connection: u64,
}

/// Facts of a call.
#[derive(Clone, Copy)]
pub struct CallFacts<'a> {
    /// The client's end of the connection.
    pub client: &'a Client,
    /// Who calls.
    pub credential: &'a Credential,
    /// Time of the call.
    pub now: Timestamp,
    /// Length of the call in bytes.
    pub request_bytes: usize,
}
