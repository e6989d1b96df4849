//! NFSv4.1 and NFSv4.2: COMPOUND, and a file for each operation.

pub(crate) mod compound;
mod context;
mod names;
mod object;
pub(crate) mod operations;
mod row;
pub(crate) mod sessions;
mod stateids;
mod subject;

mod access;
mod advise;
mod allocate;
mod clone;
mod commit;
mod copy;
mod create;
mod deallocate;
mod get_attributes;
mod get_filehandle;
mod get_xattr;
mod link;
mod list_xattrs;
mod lookup;
mod lookup_parent;
mod put_filehandle;
mod put_root_filehandle;
mod read;
mod read_directory;
mod read_link;
mod read_plus;
mod remove;
mod remove_xattr;
mod rename;
mod restore_filehandle;
mod save_filehandle;
mod security_information;
mod seek;
mod set_attributes;
mod set_xattr;
mod verify;
mod write;
mod write_same;
mod xattr_name;

use crate::server::Client;
use onc_rpc::auth::Credential;
use vfs::Timestamp;

/// Facts of the call that a compound is.
#[derive(Clone, Copy)]
pub struct CallFacts<'a> {
    /// The client's end of the connection.
    pub client: &'a Client,
    /// Who calls.
    pub credential: &'a Credential,
    /// Time of the call.
    pub now: Timestamp,
    /// Length of the call.
    pub request_bytes: usize,
}

/// Why a compound has no results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoResults {
    /// Its arguments cannot be decoded.
    Garbage,
    /// Nobody knows its outcome: the pool has stopped.
    Unknown,
}
