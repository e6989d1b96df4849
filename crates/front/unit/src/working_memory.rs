//! Working memory: bytes that commands need besides the data that the transport delivers and sends,
//! such as the blocks that a verification reads, the pattern of WRITE SAME, or the blocks of a copy
//! that cannot be shared. All commands of the array together hold a limited number of bytes;
//! further commands wait.
//!
//! Room goes to the client that holds least, and among its commands to the one that has waited
//! longest: a client with a thousand such commands does not starve another. A holder of room waits
//! only for the device, so room is always returned.

use crate::wait::WaitQueue;
use block::LOGICAL_BLOCK_BYTES;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Bytes of one step of a command: the minimum of the limit.
const STEP_BYTES: u64 = 1 << 20;

/// Connected client: an I_T nexus, or an association of another protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId {
    /// Name of the adapter's protocol, so that two adapters may use the same numbers.
    pub protocol: &'static str,
    /// Number that the adapter assigned.
    pub number: u64,
}

/// Limited bytes, and the clients that hold or wait for some.
#[derive(Debug)]
pub struct WorkingMemory {
    limit_bytes: u64,
    books: RefCell<Books>,
}

#[derive(Debug, Default)]
struct Books {
    used_bytes: u64,
    /// Clients that hold bytes or wait.
    clients: BTreeMap<ClientId, Share>,
    next: u64,
}

/// Bytes that one client holds and waits for.
#[derive(Debug, Default)]
struct Share {
    held_bytes: u64,
    /// Requests in order of arrival.
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    bytes: u64,
    waiting: WaitQueue,
}

/// Bytes held, until this is dropped.
#[derive(Debug)]
pub struct Room<'a> {
    memory: &'a WorkingMemory,
    client: ClientId,
    bytes: u64,
}

/// Place in the queue, given up when it is dropped.
struct Place<'a> {
    memory: &'a WorkingMemory,
    client: ClientId,
    number: u64,
}

impl WorkingMemory {
    /// `limit_bytes`: raised to one step of a command if it is less.
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes: limit_bytes.max(STEP_BYTES), books: RefCell::default() }
    }

    /// Waits for room for `blocks` blocks. A request above the limit is granted when no other
    /// command holds any room.
    pub async fn room(&self, client: ClientId, blocks: u64) -> Room<'_> {
        let bytes = blocks.saturating_mul(u64::from(LOGICAL_BLOCK_BYTES)).min(self.limit_bytes);
        let number = {
            let mut books = self.books.borrow_mut();
            let number = books.next;
            books.next += 1;
            books.clients.entry(client).or_default().waiting.push_back(Waiting {
                number,
                bytes,
                waiting: WaitQueue::default(),
            });
            number
        };
        let place = Place { memory: self, client, number };
        poll_fn(|context| self.poll(client, number, context)).await;
        drop(place);
        Room { memory: self, client, bytes }
    }

    fn poll(&self, client: ClientId, number: u64, context: &Context<'_>) -> Poll<()> {
        let books = &mut *self.books.borrow_mut();
        let is_first = books.first(self.limit_bytes) == Some((client, number));
        let Some(share) = books.clients.get_mut(&client) else { return Poll::Ready(()) };
        if is_first && let Some(first) = share.waiting.pop_front() {
            share.held_bytes += first.bytes;
            books.used_bytes += first.bytes;
            books.wake_first(self.limit_bytes);
            return Poll::Ready(());
        }
        if let Some(own) = share.waiting.iter().find(|waiting| waiting.number == number) {
            own.waiting.register(context.waker());
        }
        Poll::Pending
    }

    /// Bytes that commands hold now.
    pub fn used_bytes(&self) -> u64 {
        self.books.borrow().used_bytes
    }
}

impl Books {
    /// Next client and request, if there is room for it.
    fn first(&self, limit_bytes: u64) -> Option<(ClientId, u64)> {
        let waiting = self.clients.iter().filter_map(|(client, share)| Some((client, share, share.waiting.front()?)));
        let (client, _, first) = waiting.min_by_key(|(_, share, first)| (share.held_bytes, first.number))?;
        (self.used_bytes + first.bytes <= limit_bytes).then_some((*client, first.number))
    }

    fn wake_first(&self, limit_bytes: u64) {
        if let Some((client, _)) = self.first(limit_bytes)
            && let Some(first) = self.clients.get(&client).and_then(|share| share.waiting.front())
        {
            first.waiting.wake_all();
        }
    }

    /// Removes a client that holds nothing and does not wait.
    fn tidy(&mut self, client: ClientId) {
        if self.clients.get(&client).is_some_and(|share| share.held_bytes == 0 && share.waiting.is_empty()) {
            self.clients.remove(&client);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let books = &mut *self.memory.books.borrow_mut();
        let Some(share) = books.clients.get_mut(&self.client) else { return };
        let before = share.waiting.len();
        share.waiting.retain(|waiting| waiting.number != self.number);
        if share.waiting.len() != before {
            books.tidy(self.client);
            books.wake_first(self.memory.limit_bytes);
        }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let books = &mut *self.memory.books.borrow_mut();
        books.used_bytes -= self.bytes;
        if let Some(share) = books.clients.get_mut(&self.client) {
            share.held_bytes -= self.bytes;
        }
        books.tidy(self.client);
        books.wake_first(self.memory.limit_bytes);
    }
}
