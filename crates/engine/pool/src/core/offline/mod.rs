//! Functions for a pool that is not in use: verification, repair, dumps.

mod allotments;
pub(crate) mod check;
pub(crate) mod dump;
pub(crate) mod rebuild;
