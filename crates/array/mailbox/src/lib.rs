//! Messages from one thread to another, in batches.
//!
//! The sender collects what one of its turns produces and delivers it at the end of the turn
//! ([`Sender::flush`]); the receiver takes everything that has been delivered
//! ([`Receiver::poll_batch`]). A batch costs each side one lock of a mutex, which both hold only to
//! move the batch, and the receiver's wake-up only if it sleeps.
//!
//! No wake-up is lost: the receiver says that it sleeps under the same lock under which it looks for
//! the last time, and the sender asks under that lock too. The module's tests let loom check it over
//! all interleavings (`cargo xtask ci loom`).
//!
//! The number of messages is bounded by the sender: it stops producing while
//! [`Sender::is_full`] holds, and is woken when the receiver has taken a batch.
#![forbid(unsafe_code)]

use std::task::{Context, Poll, Waker};

#[cfg(loom)]
use loom::sync::{Arc, Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Debug)]
struct State<T> {
    delivered: Vec<T>,
    /// The receiver, while it sleeps.
    receiver: Option<Waker>,
    /// The sender, while it waits for room.
    sender: Option<Waker>,
    /// One of the ends is gone.
    closed: bool,
}

type Shared<T> = Arc<Mutex<State<T>>>;

/// A thread that panics holds the lock only while it moves a batch; its state is whole.
fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, State<T>> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Sending end.
#[derive(Debug)]
pub struct Sender<T> {
    shared: Shared<T>,
    /// Messages of this turn.
    pending: Vec<T>,
    /// Messages delivered and not taken, as seen by the last flush.
    delivered: usize,
    capacity: usize,
}

/// Receiving end.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Shared<T>,
}

/// Creates both ends. `capacity`: messages, from which on the sender is full.
pub fn mailbox<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let state = State { delivered: Vec::new(), receiver: None, sender: None, closed: false };
    let shared = Arc::new(Mutex::new(state));
    (Sender { shared: Arc::clone(&shared), pending: Vec::new(), delivered: 0, capacity }, Receiver { shared })
}

impl<T> Sender<T> {
    /// Adds a message to the batch.
    pub fn push(&mut self, message: T) {
        self.pending.push(message);
    }

    /// Delivers the batch, and wakes the receiver if it sleeps. The messages are dropped if the
    /// receiver is gone.
    pub fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut state = lock(&self.shared);
        if state.closed {
            drop(state);
            self.pending.clear();
            return;
        }
        if state.delivered.is_empty() {
            std::mem::swap(&mut state.delivered, &mut self.pending);
        } else {
            state.delivered.append(&mut self.pending);
        }
        self.delivered = state.delivered.len();
        let receiver = state.receiver.take();
        drop(state);
        if let Some(receiver) = receiver {
            receiver.wake();
        }
    }

    /// Whether the receiver has as many messages to take as the mailbox holds. The sender may still
    /// push what it has begun.
    pub fn is_full(&self) -> bool {
        self.delivered + self.pending.len() >= self.capacity
    }

    /// Ready when there is room again, or the receiver is gone. The messages pushed so far have to
    /// be flushed.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.shared);
        self.delivered = state.delivered.len();
        if self.delivered + self.pending.len() < self.capacity || state.closed {
            return Poll::Ready(());
        }
        state.sender = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Sender<T> {
    /// Delivers the batch, and closes the mailbox: the receiver takes what is left.
    pub fn close(&mut self) {
        self.flush();
        let mut state = lock(&self.shared);
        state.closed = true;
        let receiver = state.receiver.take();
        drop(state);
        if let Some(receiver) = receiver {
            receiver.wake();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T> Receiver<T> {
    /// Takes everything that was delivered into `batch`, which is empty. False: the sender is gone,
    /// and there is nothing left.
    pub fn poll_batch(&mut self, context: &mut Context<'_>, batch: &mut Vec<T>) -> Poll<bool> {
        let mut state = lock(&self.shared);
        if state.delivered.is_empty() {
            if state.closed {
                return Poll::Ready(false);
            }
            match &mut state.receiver {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        std::mem::swap(&mut state.delivered, batch);
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
        Poll::Ready(true)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        state.closed = true;
        let left = std::mem::take(&mut state.delivered);
        let sender = state.sender.take();
        drop(state);
        // Messages may own ends of other mailboxes.
        drop(left);
        if let Some(sender) = sender {
            sender.wake();
        }
    }
}

#[cfg(test)]
mod tests;
