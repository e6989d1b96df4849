//! The driver: the task that does a session's network I/O. One poll writes the output of all
//! commands in one call, reads everything that has arrived, and wakes tasks whose commands are
//! answered. These run before the next poll, so that their next commands are again sent together.

use crate::in_flight::TICKS;
use crate::session::{Inner, SessionError};
use bytes::{Buf, BufMut, BytesMut};
use iscsi::initiator::Event;
use iscsi::pdu::AsyncEvent;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
pub(crate) mod tests;

/// Size of the receive buffer that is allocated at once.
const ROOM_BYTES: usize = 256 << 10;
/// Smallest free space that is read into: the rest of a buffer would be filled in many small steps.
const LEAST_ROOM_BYTES: usize = 32 << 10;
/// Limit of bytes read in one turn. Then the tasks that were answered send their next commands, so
/// that the target has work while the remaining input is processed. Without it, target and host
/// would wait for each other in turn.
const TURN_BYTES: usize = 64 << 10;
/// Largest number of chunks written by one call.
const WRITE_CHUNKS: usize = 32;

/// Reason of the loss of a session whose gate is closed.
pub(crate) const STOPPED: &str =
    "this host was stopped, or cut off, for longer than its lease of the datastore, and must no longer write";

/// Driver of a session.
pub(crate) struct Driver {
    inner: Rc<Inner>,
    reader: OwnedReadHalf,
    input: BytesMut,
    clock: Interval,
}

impl Driver {
    pub(crate) fn new(inner: Rc<Inner>, reader: OwnedReadHalf) -> Self {
        let step = (inner.timeout / TICKS).max(Duration::from_millis(1));
        let mut clock = interval_at(Instant::now() + step, step);
        // After a suspend of the machine, missed ticks must not count as waiting.
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { inner, reader, input: BytesMut::new(), clock }
    }

    /// Writes pending output as far as the socket takes it.
    fn write(&self, context: &mut Context<'_>) -> io::Result<()> {
        let inner = &self.inner;
        let mut output = inner.output.borrow_mut();
        let mut writer = inner.writer.borrow_mut();
        let Some(writer) = writer.as_mut() else { return Ok(()) };
        loop {
            // Takes no more than one call writes: the machine must see what piles up when the
            // target does not read.
            let room = WRITE_CHUNKS.saturating_sub(output.len());
            output.extend(std::iter::from_fn(|| inner.machine.borrow_mut().poll_output()).take(room));
            if output.is_empty() {
                return Ok(());
            }
            let mut slices = [IoSlice::new(&[]); WRITE_CHUNKS];
            let mut count = 0;
            for (slice, chunk) in slices.iter_mut().zip(output.iter()) {
                *slice = IoSlice::new(chunk);
                count += 1;
            }
            let slices = slices.get(..count).unwrap_or_default();
            let mut written = match Pin::new(&mut *writer).poll_write_vectored(context, slices) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => written,
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Poll::Ready(Err(error)) => return Err(error),
                // The socket wakes this task when it is writable.
                Poll::Pending => return Ok(()),
            };
            inner.count(|counters| counters.sent_bytes += written as u64);
            while let Some(front) = output.front_mut().filter(|_| written > 0) {
                let step = written.min(front.len());
                front.advance(step);
                written -= step;
                if front.is_empty() {
                    output.pop_front();
                }
            }
        }
    }

    /// Reads until nothing is left or the turn is over.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut left = TURN_BYTES;
        while left > 0 {
            let begun = self.input.len();
            if self.input.capacity() - begun < LEAST_ROOM_BYTES {
                // Reserves no more than the first allocation: once all earlier input is released,
                // the same memory is reused.
                self.input.reserve(ROOM_BYTES.saturating_sub(begun).max(LEAST_ROOM_BYTES));
            }
            let read = ready!(pin!(self.reader.read_buf(&mut (&mut self.input).limit(left))).poll(context))?;
            if read == 0 {
                return Poll::Ready(Err(io::Error::other("the target closed the connection")));
            }
            left = left.saturating_sub(read);
            self.inner.count(|counters| counters.received_bytes += read as u64);
            self.inner.machine.borrow_mut().handle_input(&mut self.input);
            dispatch(&self.inner)?;
        }
        // Runs again after the tasks that are ready now.
        context.waker().wake_by_ref();
        Poll::Ready(Ok(()))
    }

    fn step(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.write(context)?;
        if let Poll::Ready(read) = self.read(context) {
            read?;
        }
        // Data requested by the target, and commands that waited for the window.
        self.write(context)
    }
}

/// Delivers events to the waiting tasks.
fn dispatch(inner: &Inner) -> io::Result<()> {
    loop {
        let event = inner.machine.borrow_mut().poll_event();
        match event {
            None => return Ok(()),
            Some(Event::Completed(completion)) => inner.in_flight.borrow_mut().complete(completion),
            Some(Event::ProtocolError(what)) => {
                return Err(io::Error::other(format!("the target broke the protocol: {what}")));
            }
            Some(Event::Rejected { reason, .. }) => {
                return Err(io::Error::other(format!("the target rejected a PDU: {reason:?}")));
            }
            Some(Event::Async { event, .. }) => match event {
                AsyncEvent::LOGOUT_REQUESTED | AsyncEvent::CONNECTION_DROPPED | AsyncEvent::SESSION_DROPPED => {
                    return Err(io::Error::other(format!("the target ends the session ({event:?})")));
                }
                // Unit attentions come with the next command anyway.
                _ => {}
            },
            // This crate sends no pings.
            Some(Event::Pong { .. }) => {}
            // Answers to a request of the session; the machine accepts no other ones.
            Some(
                answer @ (Event::LoggedIn { .. }
                | Event::LoginFailed { .. }
                | Event::Targets(_)
                | Event::TaskManagement { .. }
                | Event::LoggedOut(_)),
            ) => {
                inner.events.borrow_mut().push_back(answer);
                inner.event.notify_waiters();
            }
        }
    }
}

impl Future for Driver {
    type Output = ();

    /// Resolves when the session ends.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let inner = self.inner.clone();
        if inner.check().is_err() {
            return Poll::Ready(());
        }
        // Checked before anything is written: queued commands, and data that a target requests, may
        // date from before the host lost its lease.
        if !inner.may_write() {
            inner.lose(SessionError::Lost { portal: inner.portal.clone(), reason: STOPPED.into() });
            return Poll::Ready(());
        }
        while self.clock.poll_tick(context).is_ready() {
            if inner.in_flight.borrow_mut().tick() {
                inner.lose(SessionError::Timeout { portal: inner.portal.clone(), limit: inner.timeout });
                return Poll::Ready(());
            }
        }
        if let Err(error) = self.step(context) {
            inner.lose(SessionError::Lost { portal: inner.portal.clone(), reason: error.to_string() });
            return Poll::Ready(());
        }
        inner.driver.set(Some(context.waker().clone()));
        Poll::Pending
    }
}
