//! Replication between two arrays: the bytes of the wire, and the target of a cycle against a source that lies.

pub(crate) mod target;
pub(crate) mod wire;
