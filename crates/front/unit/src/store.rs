//! Errors of the store that keeps what must outlive a loss of power.

use thiserror::Error;

/// Why something was not kept. What was kept before still is.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoreError {
    /// There is no room for it.
    #[error("there is no room for it")]
    NoRoom,
    /// The store does not work.
    #[error("the store does not work")]
    Failed,
}
