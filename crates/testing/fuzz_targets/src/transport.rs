//! iSCSI (RFC 7143): framing, text, and both ends of a connection.

pub(crate) mod framing;
pub(crate) mod full_feature;
pub(crate) mod initiator;
pub(crate) mod login;
pub(crate) mod text;
mod wire;
