//! Result of an attempt of an operation.

use crate::interface::operation::{Failure, Output};

/// Result of an attempt.
pub(crate) enum Step {
    /// Finished.
    Done(Output),
    /// The operation took effect; it is finished when everything logged so far is durable.
    Durable(Output),
    /// `need` lists the data to read first.
    Wait,
    /// No free blocks now; a checkpoint or reclaim may free some.
    Space,
    /// The log is full until the next checkpoint.
    LogFull,
    /// Waits for its own I/O.
    Io,
    /// Made progress and wants another turn at once.
    Again,
    /// Made progress and wants another turn after all others had one.
    Later,
    /// Its submitter makes the next attempt.
    Submitter,
    /// Failed.
    Fail(Failure),
}
