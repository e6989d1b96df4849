//! Memory for data on its way between initiators and the pool: one budget for each direction, shared by all connections.
//!
//! Each connection may hold [`SHARE_BYTES`] whatever the others do. What it holds beyond that comes from the budget, in turn: a
//! connection that finds no room waits, and is woken when it is first and something was given back. When nobody holds a grant the
//! first one gets what it asks for, so that a command of any size can run; the budget is exceeded by one command at most.

use super::registry::Member;
use iscsi::target::DataOutMemory;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// What each connection may hold without asking.
pub(crate) const SHARE_BYTES: usize = 64 << 10;

/// Memory that connections share.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: usize,
    /// What connections hold beyond their shares.
    used_bytes: Cell<usize>,
    /// Part of it that was granted by [`Account::take`].
    granted_bytes: Cell<usize>,
    waiting: RefCell<VecDeque<Rc<Member>>>,
}

impl Budget {
    /// An unused budget.
    pub fn new(limit_bytes: usize) -> Rc<Self> {
        Rc::new(Self {
            limit_bytes,
            used_bytes: Cell::new(0),
            granted_bytes: Cell::new(0),
            waiting: RefCell::default(),
        })
    }

    fn wake_first(&self) {
        if let Some(first) = self.waiting.borrow().front() {
            first.wake.notify_one();
        }
    }
}

/// What one connection holds of a budget. Everything is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Account {
    budget: Rc<Budget>,
    member: Rc<Member>,
    held_bytes: Cell<usize>,
    granted_bytes: Cell<usize>,
}

impl Account {
    /// An account that holds nothing.
    pub fn new(budget: Rc<Budget>, member: Rc<Member>) -> Self {
        Self { budget, member, held_bytes: Cell::new(0), granted_bytes: Cell::new(0) }
    }

    /// True when this connection's turn has to come first.
    pub fn waits(&self) -> bool {
        self.budget.waiting.borrow().iter().any(|member| member.id == self.member.id)
    }

    /// True when more is held than what each connection may hold.
    pub fn is_beyond_share(&self) -> bool {
        self.held_bytes.get() > SHARE_BYTES
    }

    fn hold(&self, bytes: usize) {
        let beyond = |held: usize| held.saturating_sub(SHARE_BYTES);
        let used = self.budget.used_bytes.get() - beyond(self.held_bytes.get());
        self.budget.used_bytes.set(used + beyond(bytes));
        self.held_bytes.set(bytes);
    }

    fn fits(&self, bytes: usize) -> bool {
        let held = self.held_bytes.get();
        let more = (held + bytes).saturating_sub(SHARE_BYTES) - held.saturating_sub(SHARE_BYTES);
        more == 0 || self.budget.used_bytes.get() + more <= self.budget.limit_bytes
    }
}

impl DataOutMemory for Account {
    fn take(&self, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let share = self.held_bytes.get() + bytes <= SHARE_BYTES;
        if !share {
            let first = self.budget.waiting.borrow().front().is_none_or(|first| first.id == self.member.id);
            if !first || !(self.fits(bytes) || self.budget.granted_bytes.get() == 0) {
                if !self.waits() {
                    self.budget.waiting.borrow_mut().push_back(self.member.clone());
                }
                return false;
            }
            self.withdraw();
        }
        self.hold(self.held_bytes.get() + bytes);
        self.granted_bytes.set(self.granted_bytes.get() + bytes);
        self.budget.granted_bytes.set(self.budget.granted_bytes.get() + bytes);
        true
    }

    fn take_unasked(&self, bytes: usize) -> bool {
        let fits = self.fits(bytes);
        if fits {
            self.hold(self.held_bytes.get() + bytes);
        }
        fits
    }

    fn give_back(&self, granted_bytes: usize, unasked_bytes: usize) {
        if granted_bytes + unasked_bytes == 0 {
            return;
        }
        self.hold(self.held_bytes.get().saturating_sub(granted_bytes + unasked_bytes));
        self.granted_bytes.set(self.granted_bytes.get().saturating_sub(granted_bytes));
        self.budget.granted_bytes.set(self.budget.granted_bytes.get().saturating_sub(granted_bytes));
        self.budget.wake_first();
    }

    fn withdraw(&self) {
        self.budget.waiting.borrow_mut().retain(|member| member.id != self.member.id);
        self.budget.wake_first();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let granted = self.granted_bytes.get();
        self.give_back(granted, self.held_bytes.get().saturating_sub(granted));
        self.withdraw();
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::Registry;
    use super::*;
    use std::net::SocketAddr;

    const MIB: usize = 1 << 20;

    fn account(registry: &Registry, budget: &Rc<Budget>) -> Account {
        let address = SocketAddr::from(([127, 0, 0, 1], 3260));
        Account::new(budget.clone(), registry.join(address, address))
    }

    /// The sum stays within the limit whatever the number of connections; those that wait get their turn in order.
    #[test]
    fn connections_share_the_budget_in_turn() {
        let (registry, budget) = (Registry::default(), Budget::new(16 * MIB));
        let accounts: Vec<Account> = (0..40).map(|_| account(&registry, &budget)).collect();
        let granted = accounts.iter().filter(|account| account.take(8 * MIB)).count();
        assert_eq!(granted, 2);
        assert!(!budget.waiting.borrow().is_empty());
        // A small share is there for everybody, before those that wait.
        assert!(accounts[39].take(SHARE_BYTES));
        accounts[0].give_back(8 * MIB, 0);
        assert!(!accounts[3].take(MIB), "it is not its turn");
        assert!(accounts[2].take(8 * MIB));
        assert!(!accounts[2].waits());
        drop(accounts);
        assert!(budget.waiting.borrow().is_empty());
        assert_eq!((budget.used_bytes.get(), budget.granted_bytes.get()), (0, 0));
    }

    /// Data that nobody asked for is bounded too, and does not keep a large command from running for ever.
    #[test]
    fn one_grant_is_always_possible() {
        let (registry, budget) = (Registry::default(), Budget::new(16 * MIB));
        let (first, second) = (account(&registry, &budget), account(&registry, &budget));
        while first.take_unasked(256 << 10) {}
        assert!(first.held_bytes.get() <= 16 * MIB + SHARE_BYTES);
        assert!(second.take_unasked(SHARE_BYTES));
        assert!(!second.take_unasked(256 << 10));
        assert!(second.take(16 * MIB));
        assert!(second.take(0), "what needs nothing does not wait");
        assert!(!first.take(16 * MIB), "the second one has to wait");
        second.give_back(16 * MIB, 0);
        assert!(first.take(16 * MIB));
    }
}
