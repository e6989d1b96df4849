//! iSCSI, RFC 7143, without I/O: bytes and an [`Instant`](std::time::Instant) go in, bytes and
//! events come out.
//!
//! * [`pdu`]: the 48-byte headers as structs; [`framing`]: PDUs in byte buffers, with digests.
//! * [`text`]: `key=value` text; [`parameters`]: the operational keys and their negotiation;
//!   [`chap`]: authentication.
//! * [`isns`]: registration of a target with a name server.
//! * [`connection`]: one connection at the target; [`initiator`]: one at the initiator.
//!
//! Left out on purpose: error recovery levels 1 and 2, several connections in one session, markers,
//! Kerberos and SRP. A session has exactly one connection, so the rules of RFC 7143 for sessions
//! and for connections coincide.
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
