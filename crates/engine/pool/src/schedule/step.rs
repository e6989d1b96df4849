//! How far an attempt of an operation got.

use crate::interface::operation::{Failure, Output};

/// How far an operation got.
pub(crate) enum Step {
    /// Finished.
    Done(Output),
    /// Took effect; finished when everything logged so far is durable.
    Durable(Output),
    /// `need` says what has to be read first.
    Wait,
    /// No free blocks now; a checkpoint or reclaim may bring some.
    Space,
    /// The log is full until the next checkpoint.
    LogFull,
    /// Waits for I/O of its own.
    Io,
    /// Made progress and wants another turn at once.
    Again,
    /// Made progress and wants another turn after others had theirs.
    Later,
    /// Failed.
    Fail(Failure),
}
