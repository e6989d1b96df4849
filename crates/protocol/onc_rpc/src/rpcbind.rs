//! rpcbind, versions 3 and 4 of program 100000, RFC 1833 §2, with network ids and universal
//! addresses of RFC 5665.
//!
//! Left out on purpose, and answered as unavailable: CALLIT, BCAST and INDIRECT, which amplify
//! attacks; UADDR2TADDR, TADDR2UADDR, GETADDRLIST and GETSTAT, whose structures depend on a
//! transport-independent library.

use std::net::{IpAddr, SocketAddr};

use xdr::{List, Opaque, Reader, types};

use crate::portmap::MAX_ENTRIES;
use crate::{CallError, procedures};

/// Number of the program, which portmap has as well.
pub const PROGRAM: u32 = crate::portmap::PROGRAM;
/// Lower version.
pub const VERSION_3: u32 = 3;
/// Higher version, which adds GETVERSADDR.
pub const VERSION_4: u32 = 4;
/// Longest string of an entry that is decoded. The longest universal address has 47 bytes.
const MAX_STRING_BYTES: u32 = 255;

/// Procedures from this one on are only in version 4.
const FIRST_OF_VERSION_4: u32 = 9;

types! {
    /// `rpcb`: where a program is served.
    struct Binding {
        /// Program.
        program: u32,
        /// Version of the program.
        version: u32,
        /// Network id: `tcp`, `udp`, `tcp6` or `udp6`.
        network_id: Opaque<MAX_STRING_BYTES>,
        /// Universal address. In GETADDR, an address of the server that the client reaches, or
        /// empty.
        address: Opaque<MAX_STRING_BYTES>,
        /// Owner of the registration.
        owner: Opaque<MAX_STRING_BYTES>,
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
    1 => Set "SET" (binding: Binding) -> (registered: bool),
    /// Removes a registration.
    2 => Unset "UNSET" (binding: Binding) -> (removed: bool),
    /// Universal address of a program in any version; empty if it is not registered.
    3 => GetAddress "GETADDR" (binding: Binding) -> (address: Opaque<MAX_STRING_BYTES>),
    /// All registrations.
    4 => Dump "DUMP" -> (bindings: List<Binding, MAX_ENTRIES>),
    /// Time of the server in seconds since 1970.
    6 => GetTime "GETTIME" -> (seconds: u32),
    /// Universal address of a program in exactly this version; empty if it is not registered.
    9 => GetVersionAddress "GETVERSADDR" (binding: Binding) -> (address: Opaque<MAX_STRING_BYTES>),
}

impl Request {
    /// Takes the arguments of a procedure of version 3 or 4.
    pub fn decode_version(version: u32, procedure: u32, reader: &mut Reader) -> Result<Self, CallError> {
        if version < VERSION_4 && procedure >= FIRST_OF_VERSION_4 {
            return Err(CallError::ProcedureUnavailable { procedure });
        }
        Self::decode(procedure, reader)
    }
}

/// Network id of TCP over the family of an address (RFC 5665 §5.2).
pub fn tcp_network_id(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "tcp",
        IpAddr::V6(_) => "tcp6",
    }
}

/// Universal address: the address, and the port as two decimal bytes (RFC 5665 §5.2.3.3, §5.2.3.4).
pub fn universal_address(address: SocketAddr) -> String {
    let [high, low] = address.port().to_be_bytes();
    format!("{}.{high}.{low}", address.ip())
}

/// Address and port of a universal address; `None` if it is not one of IPv4 or IPv6.
pub fn parse_universal_address(text: &str) -> Option<SocketAddr> {
    let (rest, low) = text.rsplit_once('.')?;
    let (ip, high) = rest.rsplit_once('.')?;
    let port = u16::from_be_bytes([decimal_byte(high)?, decimal_byte(low)?]);
    Some(SocketAddr::new(ip.parse().ok()?, port))
}

/// A byte in decimal, without the sign that `parse` would accept.
fn decimal_byte(text: &str) -> Option<u8> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
