//! Types of the administrative REST interface, `/api/v1`: requests, responses and problem
//! documents.
//!
//! The types are plain data; the OpenAPI document is generated from them. Requests reject unknown
//! fields, so that a misspelt option is an error and not a silent default. Responses may gain
//! fields, and clients ignore unknown ones. Sizes are whole bytes and end in `_bytes`; times are
//! RFC 3339 in UTC. Changes within `v1` only add.
#![forbid(unsafe_code)]

mod access;
mod account;
mod audit;
mod bundle;
mod channel;
mod code;
mod configuration;
mod connect;
mod doctor;
mod effect;
mod event;
mod file;
mod history;
mod host;
mod host_group;
mod job;
mod lab;
mod list;
mod live;
mod login;
mod nfs;
mod offload;
mod pool;
mod portal;
mod problem;
mod qos;
mod redacted;
mod reservation;
mod schedule;
mod search;
mod session;
mod share;
mod sign_in;
mod snapshot;
mod status;
mod token;
mod trash;
mod volume;
mod warning;

pub use text::{duration, size};

pub use access::*;
pub use account::*;
pub use audit::*;
pub use bundle::*;
pub use channel::*;
pub use code::*;
pub use configuration::*;
pub use connect::*;
pub use doctor::*;
pub use effect::*;
pub use event::*;
pub use file::*;
pub use history::*;
pub use host::*;
pub use host_group::*;
pub use job::*;
pub use lab::*;
pub use list::*;
pub use live::*;
pub use login::*;
pub use nfs::*;
pub use offload::*;
pub use pool::*;
pub use portal::*;
pub use problem::*;
pub use qos::*;
pub use reservation::*;
pub use schedule::*;
pub use search::*;
pub use session::*;
pub use share::*;
pub use sign_in::*;
pub use snapshot::*;
pub use status::*;
pub use token::*;
pub use trash::*;
pub use volume::*;
pub use warning::*;

/// Word for "every host" where the name of a host is expected. No host can have this name.
pub const ANY_HOST: &str = "any";
