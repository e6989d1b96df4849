//! Executors of requests to a file: io_uring, threads and inline implement [`Engine`].

use crate::Completion;
use crate::backing::Request;
use std::os::fd::OwnedFd;

/// Executor of requests. One owner; `wait` submits first.
pub(crate) trait Engine: Send {
    /// Queues a validated request.
    fn start(&mut self, request: Request);
    /// Starts all queued requests.
    fn submit(&mut self);
    /// See [`crate::Disk::poll`].
    fn poll(&mut self) -> Option<Completion>;
    /// See [`crate::Disk::wait`].
    fn wait(&mut self);
    /// See [`crate::Disk::outstanding`].
    fn outstanding(&self) -> usize;
    /// Whether requests complete inside `start`.
    fn immediate(&self) -> bool;
}

/// Makes the event descriptor readable.
pub(crate) fn signal(wake: &OwnedFd) {
    // EAGAIN: the counter is full, so it is readable.
    let _ = rustix::io::write(wake, &1u64.to_ne_bytes());
}
