//! Memory for data in flight between hosts and the pool: one budget for each direction, shared by
//! all connections of all protocols.
//!
//! Each connection may hold [`SHARE_BYTES`] regardless of the budget. Memory beyond that comes from
//! the budget and never exceeds the part that it leaves free: one connection gets half, the next
//! one half of the rest. Later connections therefore always find some memory.
//!
//! A request that can wait and does not fit is queued: connections that hold less come first, then
//! those that arrived earlier. A request that fits passes those that do not. The first in the queue
//! may exceed the budget, one connection at a time, so that a command of any size can run and large
//! commands do not starve. Unsolicited data does not wait; it is refused.
//!
//! The budget may be shared by several threads. Each has a [`DataMemory`] with its own queue, which
//! leases what its connections hold from the common [`Budget`] in pieces of [`LEASE_BYTES`]. Two
//! threads that take the last piece at one instant may exceed the budget by one request; a
//! connection that waits for memory which another thread returns tries again after [`RETRY`].
//!
//! Short data may stay in the receive buffer in which it arrived, and keeps all of that buffer. The
//! buffers so kept have a part of the memory of their own ([`parts`]); data beyond that is copied.

mod movement;
pub(super) mod parts;
mod ration;

pub(super) use ration::{Moved, Queued, Ration};

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Memory that each connection may hold without a request.
pub(crate) const SHARE_BYTES: usize = 64 << 10;

/// Size of a receive buffer.
pub(crate) const RECEIVE_BYTES: usize = 128 << 10;

/// Bytes in which a thread leases from the budget.
const LEASE_BYTES: usize = 1 << 20;
/// Time after which a connection tries again that waits for memory of other threads.
const RETRY: Duration = Duration::from_millis(10);

/// Bytes that all threads may hold together.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Bytes that no thread has leased; negative if threads exceed the budget.
    free_bytes: AtomicI64,
    /// Most receive buffers that short data may keep.
    kept_buffers: usize,
    /// Number of threads that share the budget.
    threads: AtomicUsize,
}

impl Budget {
    /// Creates an unused budget, with `kept_bytes` besides for receive buffers that short data keeps.
    pub fn new(limit_bytes: usize, kept_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            free_bytes: AtomicI64::new(i64::try_from(limit_bytes).unwrap_or(i64::MAX)),
            kept_buffers: kept_bytes / RECEIVE_BYTES,
            threads: AtomicUsize::new(0),
        })
    }

    fn free_bytes(&self) -> usize {
        usize::try_from(self.free_bytes.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Changes a lease.
    fn change(&self, from_bytes: usize, to_bytes: usize) {
        let signed = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.free_bytes.fetch_add(signed(from_bytes) - signed(to_bytes), Ordering::Relaxed);
    }
}

/// Memory that the connections of one thread share.
#[derive(Debug)]
pub(crate) struct DataMemory {
    budget: Arc<Budget>,
    /// Bytes leased from the budget: at least the used ones.
    leased_bytes: Cell<usize>,
    /// Notified when a connection waits.
    queued: Notify,
    /// Bytes that connections hold beyond their shares, without those granted beyond the budget.
    used_bytes: Cell<usize>,
    /// True if a connection holds memory granted beyond the budget.
    exceeded: Cell<bool>,
    /// Number of commands whose short data is in a receive buffer.
    in_place: Cell<usize>,
    /// Waiting connections in order of arrival.
    waiting: RefCell<Vec<Rc<Holder>>>,
}

/// Connection in the queue of the budget.
#[derive(Debug)]
struct Holder {
    /// Wakes the connection.
    wake: Rc<Notify>,
    held_bytes: Cell<usize>,
    /// Part of `held_bytes` that was granted beyond the budget. It is released first.
    exceeding_bytes: Cell<usize>,
    /// Bytes that it waits for, and whether they may exceed the budget.
    wanted: Cell<(usize, bool)>,
}

impl Holder {
    /// Bytes that it holds of the budget.
    fn used_bytes(&self) -> usize {
        (self.held_bytes.get() - self.exceeding_bytes.get()).saturating_sub(SHARE_BYTES)
    }
}

impl DataMemory {
    /// Creates the memory of one thread.
    pub fn new(budget: Arc<Budget>) -> Rc<Self> {
        budget.threads.fetch_add(1, Ordering::Relaxed);
        Rc::new(Self {
            budget,
            leased_bytes: Cell::new(0),
            queued: Notify::new(),
            used_bytes: Cell::new(0),
            exceeded: Cell::new(false),
            in_place: Cell::new(0),
            waiting: RefCell::default(),
        })
    }

    /// Bytes that the connections of this thread could hold together now.
    fn limit_bytes(&self) -> usize {
        self.leased_bytes.get() + self.budget.free_bytes()
    }

    /// Sets the used bytes, and leases as many.
    fn set_used(&self, bytes: usize) {
        self.used_bytes.set(bytes);
        let (leased, needed) = (self.leased_bytes.get(), bytes.next_multiple_of(LEASE_BYTES));
        // One piece stays, so that a connection at its boundary does not contend with other threads.
        if needed > leased || leased > needed + LEASE_BYTES {
            self.budget.change(leased, needed);
            self.leased_bytes.set(needed);
        }
    }

    /// Lets waiting connections try again from time to time, while other threads may return memory.
    /// Runs until it is dropped.
    pub async fn retry(&self) {
        loop {
            self.queued.notified().await;
            while !self.waiting.borrow().is_empty() {
                tokio::time::sleep(RETRY).await;
                self.wake_next();
            }
        }
    }

    /// True if the connection may hold `bytes` more.
    fn fits(&self, holder: &Holder, bytes: usize) -> bool {
        let own = holder.used_bytes();
        let held = holder.held_bytes.get() - holder.exceeding_bytes.get();
        let wanted = (held + bytes).saturating_sub(SHARE_BYTES);
        let free = self.limit_bytes().saturating_sub(self.used_bytes.get() - own + wanted);
        wanted == own || wanted <= free
    }

    /// Returns the next connection to serve and whether it may exceed the budget: the first in the
    /// queue that fits; else the first that may exceed the budget, if none does already.
    fn next(&self, waiting: &[Rc<Holder>]) -> Option<(Rc<Holder>, bool)> {
        let first = |may: &dyn Fn(&Holder) -> bool| {
            waiting.iter().filter(|holder| may(holder)).min_by_key(|holder| holder.used_bytes()).cloned()
        };
        let fitting = first(&|holder| self.fits(holder, holder.wanted.get().0)).map(|holder| (holder, false));
        let beyond = || first(&|holder| holder.wanted.get().1).map(|holder| (holder, true));
        fitting.or_else(|| if self.exceeded.get() { None } else { beyond() })
    }

    fn wake_next(&self) {
        if let Some((next, _)) = self.next(&self.waiting.borrow()) {
            next.wake.notify_one();
        }
    }
}

/// Memory of a budget that one connection holds. Dropping it releases everything.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Rc<DataMemory>,
    holder: Rc<Holder>,
    /// True if data was refused since the last [`Account::was_refused`].
    refused: Cell<bool>,
}

impl Account {
    /// Creates an account that holds nothing. `wake`: wakes the connection when it may take memory.
    pub fn new(budget: Rc<DataMemory>, wake: Rc<Notify>) -> Self {
        let holder = Rc::new(Holder {
            wake,
            held_bytes: Cell::new(0),
            exceeding_bytes: Cell::new(0),
            wanted: Cell::new((0, false)),
        });
        Self { budget, holder, refused: Cell::new(false) }
    }

    /// True if this connection is in the queue.
    pub fn waits(&self) -> bool {
        self.budget.waiting.borrow().iter().any(|holder| Rc::ptr_eq(holder, &self.holder))
    }

    /// True if data was refused since the last call.
    pub fn was_refused(&self) -> bool {
        self.refused.take()
    }

    /// Bytes held.
    pub fn held_bytes(&self) -> usize {
        self.holder.held_bytes.get()
    }

    /// True if the connection holds more than its unconditional share.
    pub fn is_beyond_share(&self) -> bool {
        self.held_bytes() > SHARE_BYTES
    }

    fn hold(&self, bytes: usize, exceeding_bytes: usize) {
        let holder = &self.holder;
        let others = self.budget.used_bytes.get() - holder.used_bytes();
        if holder.exceeding_bytes.get() > 0 && exceeding_bytes == 0 {
            self.budget.exceeded.set(false);
        }
        holder.held_bytes.set(bytes);
        holder.exceeding_bytes.set(exceeding_bytes);
        self.budget.set_used(others + holder.used_bytes());
    }
}

impl Account {
    /// Takes bytes for a request that can wait. If false, the connection is in the queue, and is
    /// woken when it may try again. `oldest`: the request depends on no other one of the connection,
    /// so that its bytes will be returned; it may exceed the budget.
    pub fn take(&self, bytes: usize, oldest: bool) -> bool {
        let (budget, holder) = (&self.budget, &self.holder);
        let mut beyond = false;
        let shared = self.held_bytes() + bytes > SHARE_BYTES;
        if bytes > 0 && shared {
            holder.wanted.set((bytes, oldest));
            if !self.waits() {
                budget.waiting.borrow_mut().push(holder.clone());
                budget.queued.notify_one();
            }
            let Some((next, exceeds)) = budget.next(&budget.waiting.borrow()) else { return false };
            if !Rc::ptr_eq(&next, holder) {
                next.wake.notify_one();
                return false;
            }
            beyond = exceeds;
        }
        let exceeding = if beyond { bytes } else { 0 };
        budget.exceeded.set(budget.exceeded.get() || beyond);
        self.hold(self.held_bytes() + bytes, holder.exceeding_bytes.get() + exceeding);
        if shared {
            self.withdraw();
        }
        true
    }

    /// Takes bytes for data that has arrived. If false, the data has to be dropped.
    pub fn take_unsolicited(&self, bytes: usize) -> bool {
        let fits = self.budget.fits(&self.holder, bytes);
        if fits {
            self.hold(self.held_bytes() + bytes, self.holder.exceeding_bytes.get());
        } else {
            self.refused.set(true);
        }
        fits
    }

    /// True if short data of one more command may stay in its receive buffer, until
    /// [`Account::left_place`]. Each such command may be the only one in its buffer.
    pub fn stays_in_place(&self) -> bool {
        let (count, budget) = (&self.budget.in_place, &self.budget.budget);
        let stays = count.get() < budget.kept_buffers / budget.threads.load(Ordering::Relaxed).max(1);
        count.set(count.get() + usize::from(stays));
        stays
    }

    /// Data of this many commands has left its receive buffer.
    pub fn left_place(&self, count: usize) {
        self.budget.in_place.set(self.budget.in_place.get().saturating_sub(count));
    }

    /// Returns bytes.
    pub fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            let exceeding_bytes = self.holder.exceeding_bytes.get().saturating_sub(bytes);
            self.hold(self.held_bytes().saturating_sub(bytes), exceeding_bytes);
            self.budget.wake_next();
        }
    }

    /// Leaves the queue.
    pub fn withdraw(&self) {
        self.budget.waiting.borrow_mut().retain(|holder| !Rc::ptr_eq(holder, &self.holder));
        self.budget.wake_next();
    }
}

impl Drop for DataMemory {
    fn drop(&mut self) {
        self.budget.change(self.leased_bytes.get(), 0);
        self.budget.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.give_back(self.held_bytes());
        self.withdraw();
    }
}

#[cfg(test)]
mod tests;
