//! Portmap, version 2 of program 100000, RFC 1833 §3.

use xdr::{List, Opaque, types};

use crate::procedures;

/// Number of the program, which rpcbind has as well.
pub const PROGRAM: u32 = 100_000;
/// Version.
pub const VERSION: u32 = 2;
/// Port, on TCP and UDP.
pub const PORT: u16 = 111;
/// Most entries of a list that are decoded.
pub const MAX_ENTRIES: u32 = 1024;
/// Longest arguments or results of an indirect call: what fits a datagram.
const MAX_INDIRECT_BYTES: u32 = 65_536;

types! {
    /// Transport of a program: number of an IP protocol.
    codes Protocol {
        /// TCP.
        TCP = 6,
        /// UDP.
        UDP = 17,
    }

    /// `mapping`: where a program is served.
    struct Mapping {
        /// Program.
        program: u32,
        /// Version of the program.
        version: u32,
        /// Transport.
        protocol: Protocol,
        /// Port; not read in GETPORT.
        port: u32,
    }

    /// Arguments of CALLIT.
    struct IndirectCall {
        /// Program.
        program: u32,
        /// Version of the program.
        version: u32,
        /// Procedure.
        procedure: u32,
        /// Its encoded arguments.
        arguments: Opaque<MAX_INDIRECT_BYTES>,
    }

    /// Results of CALLIT.
    struct IndirectReply {
        /// Port of the program.
        port: u32,
        /// Encoded results of the procedure.
        results: Opaque<MAX_INDIRECT_BYTES>,
    }
}

procedures! {
    /// Request of a client.
    Request,
    /// Results of a request.
    Results;
    /// Nothing.
    0 => Null "NULL",
    /// Registers a program; whether it was registered.
    1 => Set "SET" (mapping: Mapping) -> (registered: bool),
    /// Removes all registrations of a version of a program; protocol and port are not read.
    2 => Unset "UNSET" (mapping: Mapping) -> (removed: bool),
    /// Port of a program; 0 if it is not registered.
    3 => GetPort "GETPORT" (mapping: Mapping) -> (port: u32),
    /// All registrations.
    4 => Dump "DUMP" -> (mappings: List<Mapping, MAX_ENTRIES>),
    /// Call of another program. A server that executes it amplifies attacks.
    5 => CallIt "CALLIT" (call: IndirectCall) -> (reply: IndirectReply),
}
