//! NFSv4.1 and NFSv4.2 client.
//!
//! * [`Connection`]: a connection to a server of ONC RPC, with many calls in flight, over TCP or what else a [`Server`]
//!   opens.
//! * [`Session`]: a client id and a session. Each [`Compound`] takes a slot, and is repeated on a new
//!   connection after a loss, so that it takes effect exactly once (RFC 8881 §2.10.6).
//! * [`Share`]: files of a share by path; one function an operation, and content of any length.
//! * [`url`]: the URLs of shares and files.
//!
//! All of it runs in one thread, on the current tokio runtime. Everything that a server sends is
//! checked as strictly as the standard allows: padding, bytes after a result, tags, numbers of results.
#![forbid(unsafe_code)]

mod compound;
mod connection;
mod content;
mod driver;
mod error;
mod offload;
mod server;
mod session;
mod share;
mod slots;
pub mod url;

pub use compound::{Compound, Outcomes};
pub use connection::{Connection, Counters};
pub use content::CALL_BYTES;
pub use error::ClientError;
pub use server::{Server, Stream};
pub use session::{Identity, Options, Session};
pub use share::{Directory, File, Found, Share};
