//! Facts of a call that are not in its record: where it came from, who sent it, and when.

use onc_rpc::auth::Credential;
use std::net::SocketAddr;
use std::time::Duration;
use vfs::Timestamp;

/// Transport of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Connection over TCP.
    Tcp,
    /// Datagram. Only portmap and rpcbind are served.
    Udp,
}

/// Ends of a connection, or of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Number of the connection. It is not used for another one in this run.
    pub id: u64,
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port of the server that the client has asked.
    pub server: SocketAddr,
    /// Transport.
    pub transport: Transport,
}

/// Time of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time of day, for the times of files.
    pub now: Timestamp,
    /// Time since the start of the server, never smaller than at an earlier call.
    pub uptime: Duration,
}

/// Facts of a call, after its credential was checked.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// Where it came from.
    pub connection: &'a Connection,
    /// Who calls.
    pub credential: &'a Credential,
    /// When.
    pub moment: Moment,
    /// Length of the record.
    pub record_bytes: usize,
}
