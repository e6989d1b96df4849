//! Memory that commands work with beside the data that the transport brings and takes: what VERIFY reads, the pattern of WRITE SAME, the blocks of
//! a copy that cannot be shared. All commands of a target together hold so many bytes; the others wait.
//!
//! Room goes to the I_T nexus that holds least, and among those to the command that has waited longest: a nexus with a thousand such commands does not
//! keep the one of another from its turn. Who holds room waits for the device only, so that it always comes back.

use crate::invocation::BLOCK;
use crate::limits::OPTIMAL_TRANSFER_BLOCKS;
use crate::nexus::NexusId;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// See the module.
#[derive(Debug)]
pub(crate) struct WorkingMemory {
    limit_bytes: u64,
    books: RefCell<Books>,
}

#[derive(Debug, Default)]
struct Books {
    used_bytes: u64,
    /// Those that hold something or wait.
    nexuses: BTreeMap<NexusId, Share>,
    next: u64,
}

/// What one I_T nexus holds and wants.
#[derive(Debug, Default)]
struct Share {
    held_bytes: u64,
    /// In order of arrival.
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    bytes: u64,
    waker: Option<Waker>,
}

/// Room for so many bytes, until it is dropped.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    memory: &'a WorkingMemory,
    nexus: NexusId,
    bytes: u64,
}

/// A place in the queue, given up when it is dropped.
struct Place<'a> {
    memory: &'a WorkingMemory,
    nexus: NexusId,
    number: u64,
}

impl WorkingMemory {
    /// Room for `limit_bytes`, and for one step of a command at least.
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes: limit_bytes.max(u64::from(OPTIMAL_TRANSFER_BLOCKS) * BLOCK), books: RefCell::default() }
    }

    /// Waits for room for so many blocks; more than there is altogether is given when nobody else has any.
    pub async fn room(&self, nexus: NexusId, blocks: u64) -> Room<'_> {
        let bytes = blocks.saturating_mul(BLOCK).min(self.limit_bytes);
        let number = {
            let mut books = self.books.borrow_mut();
            let number = books.next;
            books.next += 1;
            books.nexuses.entry(nexus).or_default().waiting.push_back(Waiting { number, bytes, waker: None });
            number
        };
        let place = Place { memory: self, nexus, number };
        poll_fn(|context| self.poll(nexus, number, context)).await;
        drop(place);
        Room { memory: self, nexus, bytes }
    }

    fn poll(&self, nexus: NexusId, number: u64, context: &Context<'_>) -> Poll<()> {
        let books = &mut *self.books.borrow_mut();
        let is_first = books.first(self.limit_bytes) == Some((nexus, number));
        let Some(share) = books.nexuses.get_mut(&nexus) else { return Poll::Ready(()) };
        if is_first && let Some(first) = share.waiting.pop_front() {
            share.held_bytes += first.bytes;
            books.used_bytes += first.bytes;
            books.wake_first(self.limit_bytes);
            return Poll::Ready(());
        }
        if let Some(own) = share.waiting.iter_mut().find(|waiting| waiting.number == number) {
            own.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Bytes that commands hold.
    #[cfg(test)]
    pub fn used_bytes(&self) -> u64 {
        self.books.borrow().used_bytes
    }
}

impl Books {
    /// Whose turn it is, if there is room for it.
    fn first(&self, limit_bytes: u64) -> Option<(NexusId, u64)> {
        let waiting = self.nexuses.iter().filter_map(|(nexus, share)| Some((nexus, share, share.waiting.front()?)));
        let (nexus, _, first) = waiting.min_by_key(|(_, share, first)| (share.held_bytes, first.number))?;
        (self.used_bytes + first.bytes <= limit_bytes).then_some((*nexus, first.number))
    }

    fn wake_first(&mut self, limit_bytes: u64) {
        if let Some((nexus, _)) = self.first(limit_bytes)
            && let Some(first) = self.nexuses.get_mut(&nexus).and_then(|share| share.waiting.front_mut())
            && let Some(waker) = first.waker.take()
        {
            waker.wake();
        }
    }

    /// Forgets a nexus that holds nothing and does not wait.
    fn tidy(&mut self, nexus: NexusId) {
        if self.nexuses.get(&nexus).is_some_and(|share| share.held_bytes == 0 && share.waiting.is_empty()) {
            self.nexuses.remove(&nexus);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let books = &mut *self.memory.books.borrow_mut();
        let Some(share) = books.nexuses.get_mut(&self.nexus) else { return };
        let before = share.waiting.len();
        share.waiting.retain(|waiting| waiting.number != self.number);
        if share.waiting.len() != before {
            books.tidy(self.nexus);
            books.wake_first(self.memory.limit_bytes);
        }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let books = &mut *self.memory.books.borrow_mut();
        books.used_bytes -= self.bytes;
        if let Some(share) = books.nexuses.get_mut(&self.nexus) {
            share.held_bytes -= self.bytes;
        }
        books.tidy(self.nexus);
        books.wake_first(self.memory.limit_bytes);
    }
}
