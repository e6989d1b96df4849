//! iSCSI, RFC 7143, without I/O: bytes and an [`Instant`](std::time::Instant) go in, bytes and events come out.
//!
//! * [`pdu`]: the 48-byte headers as structs; [`framing`]: PDUs in and out of byte buffers, digests included.
//! * [`text`]: `key=value` text; [`parameters`]: the operational keys and how each is negotiated; [`chap`]: authentication.
//! * [`isns`]: how a target registers with a name server.
//! * [`connection`]: one connection seen from the target; [`initiator`]: one seen from the initiator.
//!
//! Left out on purpose: error recovery levels 1 and 2, several connections in one session, markers, Kerberos and SRP. A session
//! has exactly one connection, so what RFC 7143 says of sessions and of connections falls together here.
#![forbid(unsafe_code)]

pub mod chap;
pub mod connection;
pub mod framing;
pub mod initiator;
pub mod isns;
pub mod names;
pub mod parameters;
pub mod pdu;
pub mod text;

#[cfg(test)]
mod tests;
