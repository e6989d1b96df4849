//! Timer of a connection of any protocol.

use super::clock;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::time::Sleep;

/// Timer for the earliest of what a connection has to do at an instant.
pub(crate) struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// Instant for which it is set.
    at: Option<Instant>,
}

impl Timer {
    /// A timer that is not set.
    pub fn new() -> Self {
        Self { sleep: Box::pin(tokio::time::sleep_until(clock::now().into())), at: None }
    }

    /// Sets the timer for `due`, or for nothing. Returns the present instant if it has passed; otherwise the task is
    /// woken then.
    pub fn poll(&mut self, due: Option<Instant>, context: &mut Context<'_>) -> Poll<Instant> {
        if due != self.at {
            self.at = due;
            if let Some(due) = due {
                self.sleep.as_mut().reset(due.into());
            }
        }
        if self.at.is_none() || self.sleep.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.at = None;
        Poll::Ready(clock::now())
    }
}
