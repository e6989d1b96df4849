//! ONC RPC, RFC 5531, without I/O.
//!
//! * [`record`]: messages in a TCP stream.
//! * [`message`]: headers of calls and replies; [`auth`]: credentials and verifiers.
//! * [`procedures!`]: declares the procedures of a program, with arguments and results.
//! * [`portmap`] and [`rpcbind`]: the program that tells the ports of the others.
//!
//! Left out on purpose: UDP as a transport of its own (a datagram is a message without record
//! marking), RPCSEC_GSS and AUTH_DH, which are refused, and the encryption of RPC-with-TLS (RFC
//! 9289), of which only the probe is here.
#![forbid(unsafe_code)]

pub mod auth;
pub mod message;
pub mod portmap;
mod procedures;
pub mod record;
pub mod rpcbind;

pub use procedures::CallError;

#[doc(hidden)]
pub use xdr;

#[cfg(test)]
mod tests;
