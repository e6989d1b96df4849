//! What is done to a pool that is not in use: verification, repair, showing structures.

pub(crate) mod check;
pub(crate) mod dump;
pub(crate) mod rebuild;
