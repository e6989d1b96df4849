//! The task that moves a session's bytes. One poll writes what all commands of the moment have to say in one call, takes everything that has arrived and
//! wakes those whose commands are answered; they run before the next poll, so that their next commands go out together again.

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

/// Room for received bytes that is made at once.
const ROOM_BYTES: usize = 256 << 10;
/// Less room than this is not read into: the rest of a buffer would be filled in many small steps.
const LEAST_ROOM_BYTES: usize = 32 << 10;
/// What is taken in one turn: then those who were answered say what they want next, so that the target has work while the rest is looked at.
/// Without it, target and host wait for each other by turns.
const TURN_BYTES: usize = 64 << 10;
/// Chunks written by one call.
const WRITE_CHUNKS: usize = 32;

/// Why a session is lost whose gate is closed.
pub(crate) const STOPPED: &str =
    "this host was stopped, or cut off, for longer than its lease of the datastore, and must not write any more";

/// See the module.
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
        // A machine that slept has not waited.
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { inner, reader, input: BytesMut::new(), clock }
    }

    /// Writes what there is, as far as it goes now.
    fn write(&self, context: &mut Context<'_>) -> io::Result<()> {
        let inner = &self.inner;
        let mut output = inner.output.borrow_mut();
        let mut writer = inner.writer.borrow_mut();
        let Some(writer) = writer.as_mut() else { return Ok(()) };
        loop {
            // No more than one call writes: the machine has to know what piles up because the target does not read.
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
                // Wakes this task when there is room.
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

    /// Takes what has arrived, until there is nothing more or a turn is over.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut left = TURN_BYTES;
        while left > 0 {
            let begun = self.input.len();
            if self.input.capacity() - begun < LEAST_ROOM_BYTES {
                // No more than was allocated at first: when everybody is done with what was read before, the same memory is used again.
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
        // After the tasks that are to run now.
        context.waker().wake_by_ref();
        Poll::Ready(Ok(()))
    }

    fn step(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.write(context)?;
        if let Poll::Ready(read) = self.read(context) {
            read?;
        }
        // Data that was asked for, and commands that waited for the window.
        self.write(context)
    }
}

/// Tells everybody what has come.
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
            // Nobody here asks for it.
            Some(Event::Pong { .. }) => {}
            // One for each request of the session; the machine takes no others.
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

    /// Ends with the session.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let inner = self.inner.clone();
        if inner.check().is_err() {
            return Poll::Ready(());
        }
        // Before anything is written: commands that waited here, and data that a target asks for, may be of a time when this host was somebody else.
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
