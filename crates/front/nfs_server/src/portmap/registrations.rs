//! The programs of the server, as portmap and rpcbind list them.

use crate::connection::Connection;
use onc_rpc::portmap::{self, Mapping, Protocol};
use onc_rpc::rpcbind;
use std::net::SocketAddr;

/// Program that is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    /// Program.
    pub program: u32,
    /// Version.
    pub version: u32,
    /// TCP port.
    pub port: u16,
}

impl Registration {
    /// Entry of portmap's list.
    pub fn mapping(self) -> Mapping {
        let Self { program, version, port } = self;
        Mapping { program, version, protocol: Protocol::TCP, port: port.into() }
    }

    /// Address of the program, on the server's address that the client has asked.
    pub fn address(self, connection: &Connection) -> SocketAddr {
        SocketAddr::new(connection.server.ip().to_canonical(), self.port)
    }
}

/// All registrations: portmap where the client has asked, the others on the port of NFS.
pub(crate) fn registrations(connection: &Connection, v3: bool, v4: bool, nfs_port: u16) -> Vec<Registration> {
    let asked = connection.server.port();
    let mut all: Vec<_> = [portmap::VERSION, rpcbind::VERSION_3, rpcbind::VERSION_4]
        .map(|version| Registration { program: portmap::PROGRAM, version, port: asked })
        .into();
    let mut add = |program, version| all.push(Registration { program, version, port: nfs_port });
    if v3 {
        add(nfs::PROGRAM, nfs::v3::VERSION);
    }
    if v4 {
        add(nfs::PROGRAM, nfs::v4::VERSION);
    }
    if v3 {
        add(nfs::mount::PROGRAM, nfs::mount::VERSION);
    }
    all
}
