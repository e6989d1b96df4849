//! Memory for data on its way between initiators and the pool: one budget for each direction, shared by all connections.
//!
//! Each connection may hold [`SHARE_BYTES`] whatever the others do. What it holds beyond that comes from the budget, and is never more
//! than what it leaves free: one connection gets half, the next one half of the rest, so that however much some hold, there is room for those
//! that come after them.
//!
//! A request that is waited for and does not fit stands in line: who holds less comes first, then who came first. One that fits passes those that
//! do not. So that a command of any size can run, and the largest one is not passed for ever, the first in line gets what it asks for beyond
//! the budget, one at a time. Data that nobody asked for does not wait; it is refused.

use super::registry::Member;
use iscsi::connection::DataOutMemory;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What each connection may hold without asking.
pub(crate) const SHARE_BYTES: usize = 64 << 10;

/// Memory that connections share.
#[derive(Debug)]
pub(crate) struct DataMemory {
    limit_bytes: usize,
    /// What connections hold beyond their shares, without what was given beyond the budget.
    used_bytes: Cell<usize>,
    /// Somebody holds what was given beyond the budget.
    exceeded: Cell<bool>,
    /// In order of arrival.
    waiting: RefCell<Vec<Rc<Holder>>>,
}

/// A connection as the others see it.
#[derive(Debug)]
struct Holder {
    member: Rc<Member>,
    held_bytes: Cell<usize>,
    /// Part of it that was given beyond the budget. It is given back first.
    exceeding_bytes: Cell<usize>,
    /// What it waits for, and whether it may have that beyond the budget.
    wanted: Cell<(usize, bool)>,
}

impl Holder {
    /// What it holds of the budget.
    fn used_bytes(&self) -> usize {
        (self.held_bytes.get() - self.exceeding_bytes.get()).saturating_sub(SHARE_BYTES)
    }
}

impl DataMemory {
    /// An unused budget.
    pub fn new(limit_bytes: usize) -> Rc<Self> {
        Rc::new(Self { limit_bytes, used_bytes: Cell::new(0), exceeded: Cell::new(false), waiting: RefCell::default() })
    }

    /// Whether a connection may hold so much more.
    fn fits(&self, holder: &Holder, bytes: usize) -> bool {
        let own = holder.used_bytes();
        let held = holder.held_bytes.get() - holder.exceeding_bytes.get();
        let wanted = (held + bytes).saturating_sub(SHARE_BYTES);
        let free = self.limit_bytes.saturating_sub(self.used_bytes.get() - own + wanted);
        wanted == own || wanted <= free
    }

    /// Whose turn it is: the first in line that fits; else the first that may have it beyond the budget, when nobody else does.
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
            next.member.wake.notify_one();
        }
    }
}

/// What one connection holds of a budget. Everything is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Rc<DataMemory>,
    holder: Rc<Holder>,
    /// Data was refused since somebody last asked.
    refused: Cell<bool>,
}

impl Account {
    /// An account that holds nothing.
    pub fn new(budget: Rc<DataMemory>, member: Rc<Member>) -> Self {
        let holder = Rc::new(Holder {
            member,
            held_bytes: Cell::new(0),
            exceeding_bytes: Cell::new(0),
            wanted: Cell::new((0, false)),
        });
        Self { budget, holder, refused: Cell::new(false) }
    }

    /// True when this connection's turn has to come first.
    pub fn waits(&self) -> bool {
        self.budget.waiting.borrow().iter().any(|holder| Rc::ptr_eq(holder, &self.holder))
    }

    /// True when data was refused since this was last asked.
    pub fn was_refused(&self) -> bool {
        self.refused.take()
    }

    /// Bytes that are held.
    pub fn held_bytes(&self) -> usize {
        self.holder.held_bytes.get()
    }

    /// True when more is held than what each connection may hold.
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
        self.budget.used_bytes.set(others + holder.used_bytes());
    }
}

impl DataOutMemory for Account {
    fn take(&self, bytes: usize, oldest: bool) -> bool {
        let (budget, holder) = (&self.budget, &self.holder);
        let mut beyond = false;
        let shared = self.held_bytes() + bytes > SHARE_BYTES;
        if bytes > 0 && shared {
            holder.wanted.set((bytes, oldest));
            if !self.waits() {
                budget.waiting.borrow_mut().push(holder.clone());
            }
            let Some((next, exceeds)) = budget.next(&budget.waiting.borrow()) else { return false };
            if !Rc::ptr_eq(&next, holder) {
                next.member.wake.notify_one();
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

    fn take_unasked(&self, bytes: usize) -> bool {
        let fits = self.budget.fits(&self.holder, bytes);
        if fits {
            self.hold(self.held_bytes() + bytes, self.holder.exceeding_bytes.get());
        } else {
            self.refused.set(true);
        }
        fits
    }

    fn give_back(&self, granted_bytes: usize, unasked_bytes: usize) {
        let bytes = granted_bytes + unasked_bytes;
        if bytes > 0 {
            let exceeding_bytes = self.holder.exceeding_bytes.get().saturating_sub(bytes);
            self.hold(self.held_bytes().saturating_sub(bytes), exceeding_bytes);
            self.budget.wake_next();
        }
    }

    fn withdraw(&self) {
        self.budget.waiting.borrow_mut().retain(|holder| !Rc::ptr_eq(holder, &self.holder));
        self.budget.wake_next();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.give_back(self.held_bytes(), 0);
        self.withdraw();
    }
}

#[cfg(test)]
mod tests;
