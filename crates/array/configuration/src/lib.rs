//! The configuration of an array as one document, without I/O: its objects by kind and name ([`Configuration`]), their
//! form as TOML or JSON ([`Format`]), and the steps that turn one configuration into another ([`Plan`]).
//!
//! A document has what an administrator has set, and no content, secret, identifier or state. A kind that a document
//! does not have is left as it is; of a kind that it has, objects that it does not name are removed. Settings of the
//! pool, portals and their groups belong to every array: they are changed, and neither added nor removed.
#![forbid(unsafe_code)]

mod channel;
mod check;
mod document;
mod entries;
mod error;
mod plan;
mod read;
mod step;
#[cfg(test)]
mod tests;

pub use channel::SecretChange;
pub use document::{Configuration, Format};
pub use entries::{
    Access, Channel, Chap, Export, Host, HostGroup, Kind, Pool, PortGroup, Portal, QosPolicy, Schedule, Share, Token,
    User, Volume,
};
pub use error::Invalid;
pub use plan::Plan;
pub use step::{Op, Step};

/// Fields of an object, by name.
pub type Fields = serde_json::Map<String, serde_json::Value>;
