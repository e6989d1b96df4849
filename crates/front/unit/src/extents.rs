//! Extent locks: which commands on a volume may overlap in flight.
//!
//! A device executes each of its calls at one instant, except a copy step that moves data. So most
//! commands need no protection from each other. A command that reads, computes and writes must not
//! see another command's writes to its blocks in between. [`CONFLICTS`] is the one table of commands that may
//! overlap; a command names its blocks and its class before its first call.
//!
//! A waiting command waits for conflicting commands that arrived before it, in order of arrival, so
//! no command waits without end. A command holds extents of at most one class; one that names
//! blocks of two volumes locks them in the order of the volumes.

use crate::wait::WaitQueue;
use block::Extent;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Way in which a command locks the blocks that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// One call that reads: READ, the source of a copy in one step that shares blocks.
    Read,
    /// One call that changes: WRITE, COMPARE AND WRITE, UNMAP, WRITE SAME of zeros, the destination of
    /// a copy in one step that shares blocks.
    Write,
    /// Several calls that only read: VERIFY of a large range, the source of any other copy.
    Scan,
    /// Several calls that read, or read and write, and have to be atomic together: ORWRITE, WRITE
    /// AND VERIFY, WRITE SAME of a pattern, the destination of any other copy.
    Update,
}

impl LockMode {
    const COUNT: usize = 4;

    /// Whether the class makes only one call of the device.
    const fn is_instant(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// Whether a command of the row's class that is in flight delays a command of the column's class
/// with a block in common. Two commands of one call each never conflict: the device executes them
/// one after the other.
pub const CONFLICTS: [[bool; LockMode::COUNT]; LockMode::COUNT] = {
    const X: bool = true;
    const O: bool = false;
    [
        //            Read  Write Scan  Update
        /* Read   */ [O, O, O, X],
        /* Write  */ [O, O, X, X],
        /* Scan   */ [O, X, O, X],
        /* Update */ [X, X, X, X],
    ]
};

/// Extent locks of a volume.
#[derive(Debug, Default)]
pub struct ExtentLocks {
    /// Locks held or waiting, in order of arrival.
    entries: RefCell<VecDeque<Entry>>,
    next: Cell<u64>,
    /// Number of entries whose class makes several calls.
    long: Cell<usize>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    class: LockMode,
    extents: Extents,
    waiting: WaitQueue,
}

/// One extent without an allocation, several with one.
#[derive(Debug)]
enum Extents {
    One(Extent),
    Many(Box<[Extent]>),
}

impl Extents {
    fn as_slice(&self) -> &[Extent] {
        match self {
            Self::One(extent) => std::slice::from_ref(extent),
            Self::Many(extents) => extents,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let overlap = |one: &Extent, other: &Extent| {
            one.lba.0 < other.lba.0.saturating_add(other.count) && other.lba.0 < one.lba.0.saturating_add(one.count)
        };
        self.as_slice().iter().any(|one| other.as_slice().iter().any(|other| overlap(one, other)))
    }
}

/// Lock on the extents, held until it is dropped.
#[derive(Debug)]
pub struct ExtentGuard<'a> {
    locks: &'a ExtentLocks,
    number: u64,
}

impl ExtentLocks {
    /// Queues a lock for these blocks. The future is ready when no conflicting earlier entry is
    /// left.
    pub fn lock(&self, class: LockMode, extents: &[Extent]) -> Lock<'_> {
        let number = self.next.get();
        self.next.set(number + 1);
        let extents = match extents {
            [extent] => Extents::One(*extent),
            extents => Extents::Many(extents.into()),
        };
        self.entries.borrow_mut().push_back(Entry { number, class, extents, waiting: WaitQueue::default() });
        if !class.is_instant() {
            self.long.set(self.long.get() + 1);
        }
        Lock(Some(ExtentGuard { locks: self, number }))
    }

    fn poll(&self, number: u64, context: &Context<'_>) -> Poll<()> {
        // Classes of one call do not conflict with each other.
        if self.long.get() == 0 {
            return Poll::Ready(());
        }
        let entries = self.entries.borrow();
        let Ok(at) = entries.binary_search_by_key(&number, |entry| entry.number) else { return Poll::Ready(()) };
        let Some(own) = entries.get(at) else { return Poll::Ready(()) };
        let conflicts = |other: &Entry| {
            CONFLICTS.get(other.class as usize).and_then(|row| row.get(own.class as usize)).copied().unwrap_or(true)
                && other.extents.overlaps(&own.extents)
        };
        if entries.iter().take(at).any(conflicts) {
            own.waiting.register(context.waker());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// Future of [`ExtentLocks::lock`]. Dropping it gives up the place.
#[derive(Debug)]
pub struct Lock<'a>(Option<ExtentGuard<'a>>);

impl<'a> Future for Lock<'a> {
    type Output = ExtentGuard<'a>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ExtentGuard<'a>> {
        match self.0.take() {
            Some(guard) if guard.locks.poll(guard.number, context).is_pending() => {
                self.0 = Some(guard);
                Poll::Pending
            }
            Some(guard) => Poll::Ready(guard),
            None => Poll::Pending,
        }
    }
}

impl Drop for ExtentGuard<'_> {
    fn drop(&mut self) {
        let mut entries = self.locks.entries.borrow_mut();
        let Ok(at) = entries.binary_search_by_key(&self.number, |entry| entry.number) else { return };
        // Mostly the oldest entry or one near it: few others move.
        let Some(gone) = entries.remove(at) else { return };
        // An entry waits only while one with several calls is there, perhaps this one.
        if self.locks.long.get() == 0 {
            return;
        }
        if !gone.class.is_instant() {
            self.locks.long.set(self.locks.long.get().saturating_sub(1));
        }
        for entry in entries.iter().skip(at) {
            if entry.extents.overlaps(&gone.extents) {
                entry.waiting.wake_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Waker;

    fn is_ready<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    /// The table is symmetric, and only commands of several calls have conflicts.
    #[test]
    fn the_table_is_consistent() {
        for (one, row) in CONFLICTS.iter().enumerate() {
            for (other, conflict) in row.iter().enumerate() {
                let instant = |class: usize| class < 2;
                assert!(!(*conflict && instant(one) && instant(other)));
                assert_eq!(CONFLICTS[other][one], *conflict, "{one} {other}");
            }
        }
    }

    #[test]
    fn updates_exclude_what_overlaps() {
        let locks = ExtentLocks::default();
        let update = is_ready(pin!(locks.lock(LockMode::Update, const { &[Extent::new(10, 10)] })))
            .expect("no other lock is there");
        let mut read = pin!(locks.lock(LockMode::Read, const { &[Extent::new(19, 1)] }));
        assert!(is_ready(read.as_mut()).is_none());
        let beside = is_ready(pin!(locks.lock(LockMode::Write, const { &[Extent::new(20, 5), Extent::new(0, 10)] })));
        assert!(beside.is_some());
        let mut next = pin!(locks.lock(LockMode::Update, const { &[Extent::new(0, 100)] }));
        assert!(is_ready(next.as_mut()).is_none());
        drop(update);
        let read = is_ready(read.as_mut()).expect("the update is done");
        assert!(is_ready(next.as_mut()).is_none(), "the writer beside is not");
        // Later commands do not overtake a waiting one.
        let mut late = pin!(locks.lock(LockMode::Write, const { &[Extent::new(50, 1)] }));
        assert!(is_ready(late.as_mut()).is_none());
        drop(beside);
        assert!(is_ready(next.as_mut()).is_none(), "the reader is not");
        drop(read);
        let next = is_ready(next.as_mut()).expect("none is before it");
        drop(next);
        assert!(is_ready(late.as_mut()).is_some());
    }

    #[test]
    fn who_gives_up_is_not_waited_for() {
        let locks = ExtentLocks::default();
        let write = is_ready(pin!(locks.lock(LockMode::Write, const { &[Extent::new(0, 8)] })))
            .expect("no other lock is there");
        {
            let mut update = pin!(locks.lock(LockMode::Update, const { &[Extent::new(0, 8)] }));
            assert!(is_ready(update.as_mut()).is_none());
        }
        assert!(is_ready(pin!(locks.lock(LockMode::Write, const { &[Extent::new(0, 8)] }))).is_some());
        drop(write);
        assert_eq!((locks.entries.borrow().len(), locks.long.get()), (0, 0));
    }
}
