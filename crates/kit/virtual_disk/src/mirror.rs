//! A mirror: a disk that moves to another place while a guest uses it.
//!
//! The copy goes from the beginning to the end, region by region. A guest's write behind the copy
//! goes to both sides, and is acknowledged when both have it. A write ahead of the copy goes only
//! to the source, where the copy will find it. A write into the region being copied waits.
//! Overlapping writes take effect one after the other, so that both sides see them in one order.
//! The source answers reads until the *cut-over*: new requests are held back, requests in flight
//! end, the destination is published, and all later requests go there.
//!
//! After any earlier failure (the destination is full or gone, the copy cannot read the source) the
//! guest continues on the source, and sees no error. After [`Mirror::settle`] no request of the
//! guest to the other side is in flight.

use crate::endpoint::Endpoint;
use crate::ranges::Ranges;
use bytes::Bytes;
use data_mover::{Clock, DataMover, Device, Moved};
use datastore::DatastoreError;
use futures_util::future::{self, Either};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use thiserror::Error;
use tokio::sync::Notify;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;

/// Size of a region in bytes: initial, least and largest.
const REGION_BYTES: u64 = 4 << 20;
const MIN_REGION_BYTES: u64 = 1 << 20;
const MAX_REGION_BYTES: u64 = 64 << 20;
/// Target time of copying a region, for which a guest may wait: longer regions are halved, much
/// shorter ones doubled.
const REGION_TIME: Duration = Duration::from_millis(40);
/// Time for which a cut-over waits for requests in flight before it is put off.
const DRAIN_TIME: Duration = Duration::from_millis(50);
/// Pause before the next attempt.
const DRAIN_PAUSE: Duration = Duration::from_millis(20);
/// Attempts at a cut-over; the last one waits without a limit.
const DRAIN_TRIES: u32 = 100;

/// Reason why a disk stays at the source.
#[derive(Debug, Error)]
pub enum MigrateError {
    /// The caller stopped the copy.
    #[error("interrupted; the disk stays at its source")]
    Interrupted,
    /// The copy, or a write of the guest to the destination, failed.
    #[error("the disk stays at its source: {0}")]
    Failed(DatastoreError),
    /// The connection was lost during publishing: the destination may look complete, and becomes
    /// stale from now on.
    #[error("the disk stays at its source, but the destination may look complete: {0}")]
    Publishing(DatastoreError),
    /// A write of the guest failed on the source: its effect is unknown, and the two sides may
    /// differ.
    #[error("the disk stays at its source: a write of the guest failed on the source: {0}")]
    Guest(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Behind the copy both sides are written.
    Mirrored,
    /// Only the source is valid.
    Source,
    /// Only the destination is valid.
    Destination,
}

/// A disk that moves. The guest uses [`Self::read`] and [`Self::write`] before, during and after
/// the move.
pub struct Mirror<D> {
    source: RefCell<Option<Rc<Endpoint<D>>>>,
    destination: RefCell<Option<Rc<Endpoint<D>>>>,
    mover: Rc<DataMover>,
    size: u64,
    grain: u64,
    /// Bytes below this offset are on both sides.
    copied: Cell<u64>,
    ranges: Ranges,
    state: Cell<State>,
    failure: RefCell<Option<MigrateError>>,
    /// Whether new requests are held back.
    closed: Cell<bool>,
    /// Number of requests in flight.
    running: Cell<u64>,
    changed: Notify,
}

/// Guard of a request in flight.
struct Running<'a, D>(&'a Mirror<D>);

impl<D> Drop for Running<'_, D> {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get().saturating_sub(1));
        self.0.changed.notify_waiters();
    }
}

/// Guard that holds new requests back.
struct Closed<'a, D>(&'a Mirror<D>);

impl<D> Drop for Closed<'_, D> {
    fn drop(&mut self) {
        self.0.closed.set(false);
        self.0.changed.notify_waiters();
    }
}

impl<D: Device> Mirror<D> {
    /// Creates a mirror with nothing copied. The destination is at least as large as the source;
    /// its content is overwritten.
    pub fn new(source: Endpoint<D>, destination: Endpoint<D>) -> Self {
        let (size, mover) = (source.size(), source.mover().clone());
        // Both are powers of two.
        let grain = source.grain().max(destination.grain());
        Self {
            source: RefCell::new(Some(Rc::new(source))),
            destination: RefCell::new(Some(Rc::new(destination))),
            mover,
            size,
            grain,
            copied: Cell::new(0),
            ranges: Ranges::default(),
            state: Cell::new(State::Mirrored),
            failure: RefCell::default(),
            closed: Cell::new(false),
            running: Cell::new(0),
            changed: Notify::new(),
        }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the disk has moved to the destination.
    pub fn is_moved(&self) -> bool {
        self.state.get() == State::Destination
    }

    fn clock(&self) -> &dyn Clock {
        self.mover.clock()
    }

    fn side(&self, side: &RefCell<Option<Rc<Endpoint<D>>>>) -> Result<Rc<Endpoint<D>>, DatastoreError> {
        let taken = || DatastoreError::Unsuitable("this side of the disk was released".into());
        side.borrow().clone().ok_or_else(taken)
    }

    /// Registers a request; waits while requests are held back.
    async fn enter(&self) -> Running<'_, D> {
        loop {
            let changed = self.changed.notified();
            if !self.closed.get() {
                self.running.set(self.running.get() + 1);
                return Running(self);
            }
            changed.await;
        }
    }

    /// Reads whole sectors for the guest.
    pub async fn read(&self, offset: u64, bytes: u64) -> Result<Bytes, DatastoreError> {
        let _running = self.enter().await;
        let side = match self.state.get() {
            State::Mirrored | State::Source => self.side(&self.source)?,
            State::Destination => self.side(&self.destination)?,
        };
        side.read(offset, bytes).await
    }

    /// Writes whole sectors for the guest.
    pub async fn write(&self, offset: u64, data: Bytes) -> Result<(), DatastoreError> {
        let _running = self.enter().await;
        if self.state.get() == State::Destination {
            return self.side(&self.destination)?.write(offset, data).await;
        }
        let source = self.side(&self.source)?;
        let end = offset.saturating_add(data.len() as u64);
        let _held = self.ranges.hold(offset..end).await;
        let behind = self.copied.get().clamp(offset.min(end), end) - offset;
        if self.state.get() == State::Source || behind == 0 {
            let written = source.write(offset, data).await;
            return self.checked(written);
        }
        let destination = self.side(&self.destination)?;
        let both = data.slice(..usize::try_from(behind).unwrap_or(data.len()));
        let (here, there) = future::join(source.write(offset, data), destination.write(offset, both)).await;
        if let Err(error) = there {
            self.fail(MigrateError::Failed(error));
        }
        self.checked(here)
    }

    /// Handles a failed write to the source: its effect is unknown, so the two sides may differ,
    /// and the disk stays.
    fn checked(&self, written: Result<(), DatastoreError>) -> Result<(), DatastoreError> {
        if let Err(error) = &written
            && !matches!(error, DatastoreError::Range { .. })
        {
            self.fail(MigrateError::Guest(error.to_string()));
        }
        written
    }

    /// Makes the source the only valid side; the first reason is kept.
    fn fail(&self, error: MigrateError) {
        if self.state.get() == State::Mirrored {
            self.state.set(State::Source);
            self.failure.borrow_mut().get_or_insert(error);
            self.changed.notify_waiters();
        }
    }

    /// Returns the reason if the disk stays at the source.
    fn failed(&self) -> Result<(), MigrateError> {
        match self.state.get() {
            State::Source => Err(self.failure.borrow_mut().take().unwrap_or(MigrateError::Interrupted)),
            State::Mirrored | State::Destination => Ok(()),
        }
    }

    /// Copies everything. `stop` is called before every region; `progress` receives bytes done.
    /// Returns who moved how many bytes, without the guest's writes to both sides.
    ///
    /// Errors: after one, the guest continues on the source.
    pub async fn copy(&self, stop: &dyn Fn() -> bool, progress: &dyn Fn(u64)) -> Result<Moved, MigrateError> {
        let mut moved = Moved::default();
        let mut region = REGION_BYTES.max(self.grain);
        while self.copied.get() < self.size {
            self.failed()?;
            if stop() {
                self.fail(MigrateError::Interrupted);
                self.failed()?;
            }
            let at = self.copied.get();
            let end = at.saturating_add(region).min(self.size);
            let held = self.ranges.hold(at..end).await;
            let begun = self.clock().now();
            let copied = async {
                let (source, destination) = (self.side(&self.source)?, self.side(&self.destination)?);
                destination.copy_from(source.source(), at, end - at, progress).await
            };
            match copied.await {
                Ok(more) => moved.add(&more),
                Err(error) => {
                    self.fail(MigrateError::Failed(error));
                    drop(held);
                    return Err(self.failed().err().unwrap_or(MigrateError::Interrupted));
                }
            }
            self.copied.set(end);
            drop(held);
            let took = self.clock().now().saturating_sub(begun);
            if took > REGION_TIME {
                region = (region / 2).max(MIN_REGION_BYTES).max(self.grain);
            } else if took < REGION_TIME / 4 {
                region = (region * 2).min(MAX_REGION_BYTES.max(self.grain));
            }
        }
        self.failed()?;
        Ok(moved)
    }

    /// Moves the guest over when everything is copied. `publish` is called while no request of the
    /// guest is in flight. Returns how long requests were held back.
    ///
    /// Errors: after one, the guest continues on the source.
    pub async fn cut_over(
        &self,
        publish: impl AsyncFnOnce(&Endpoint<D>) -> Result<(), DatastoreError>,
    ) -> Result<Duration, MigrateError> {
        for tries in 1.. {
            self.failed()?;
            let begun = self.clock().now();
            self.closed.set(true);
            let closed = Closed(self);
            if self.drained(tries >= DRAIN_TRIES).await {
                self.failed()?;
                let published = async { publish(&*self.side(&self.destination)?).await };
                if let Err(error) = published.await {
                    let lost = matches!(&error, DatastoreError::Device(error) if error.is_lost());
                    self.fail(if lost { MigrateError::Publishing(error) } else { MigrateError::Failed(error) });
                    self.failed()?;
                }
                self.state.set(State::Destination);
                drop(closed);
                return Ok(self.clock().now().saturating_sub(begun));
            }
            drop(closed);
            self.clock().sleep(DRAIN_PAUSE).await;
        }
        Err(MigrateError::Interrupted)
    }

    /// Waits for requests in flight. Returns false after [`DRAIN_TIME`] unless `unlimited` is set.
    async fn drained(&self, unlimited: bool) -> bool {
        let idle = async {
            loop {
                let changed = self.changed.notified();
                if self.running.get() == 0 {
                    return;
                }
                changed.await;
            }
        };
        if unlimited {
            idle.await;
            return true;
        }
        let sleep = self.clock().sleep(DRAIN_TIME);
        matches!(future::select(pin!(idle), sleep).await, Either::Left(_))
    }

    /// Gives up: the guest continues on the source.
    pub fn give_up(&self) {
        self.fail(MigrateError::Interrupted);
    }

    /// Waits until no request of the guest to the invalid side is in flight, and returns that side,
    /// to be removed or closed. `None` before the cut-over or a failure, and when called a second
    /// time.
    pub async fn settle(&self) -> Option<Endpoint<D>> {
        let side = match self.state.get() {
            State::Mirrored => return None,
            State::Source => &self.destination,
            State::Destination => &self.source,
        };
        self.closed.set(true);
        let closed = Closed(self);
        self.drained(true).await;
        let endpoint = side.borrow_mut().take();
        drop(closed);
        // This is the only reference: requests hold one only while they run.
        endpoint.and_then(Rc::into_inner)
    }

    /// Returns the valid side when the guest is done.
    pub fn into_disk(self) -> Option<Endpoint<D>> {
        let side = match self.state.get() {
            State::Mirrored | State::Source => self.source,
            State::Destination => self.destination,
        };
        side.into_inner().and_then(Rc::into_inner)
    }
}
