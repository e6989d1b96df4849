//! Light client of shares: one thread, no tasks and no timers, so that the client does not limit
//! what is measured. Calls and results are those of [`nfs_client`].
//!
//! It trusts its server, the one under test on this machine; whatever it does not expect ends the
//! benchmark with an error.

pub(crate) mod load;
pub(crate) mod operations;
pub(crate) mod session;
pub(crate) mod tree;
