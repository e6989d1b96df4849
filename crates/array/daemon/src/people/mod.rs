//! Users, tokens and sign-ins of this array: their store, and the credentials of requests.
//!
//! The rules are in the crate `identity`. This module keeps its state in `STATE_DIR/management.redb`,
//! not in the pool: one must be able to sign in when the pool has stopped, and a pool that moves to
//! another machine takes no people with it.

mod bootstrap;
mod caller;
mod entropy;
mod failures;
mod gate;
mod hashing;
mod setup;
mod store;

pub(crate) use caller::{Caller, CallerKind};
pub(crate) use failures::Report;
pub(crate) use gate::{Attempt, Denied, Gate, NotChanged, NotSignedIn, Unavailable};

/// Private files of this module, in the state directory.
pub(crate) const FILES: [&str; 3] = [bootstrap::FILE_NAME, crate::management_store::FILE_NAME, setup::FILE_NAME];
