//! Replies to changing procedures of NFSv3, kept for their repetition: a client that lost a reply sends
//! the call again, perhaps over another connection and from another port, and has to get the first
//! reply instead of a second execution.
//!
//! A repetition of a call that is being executed waits for its reply, and gets it in place of the
//! earlier one. Replies leave 120 s after their last use, or earlier, least recently used first, if they
//! take more memory than they may.

use bytes::Bytes;
use crc_fast::CrcAlgorithm;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::task::{Poll, Waker};
use std::time::Duration;

/// Most memory of kept replies.
const MOST_BYTES: usize = 16 << 20;
/// Memory of a kept reply besides its bytes: its share of the nodes of two trees.
const ENTRY_BYTES: usize = 384;
/// Time for which a reply is kept after its last use.
const LIFETIME: Duration = Duration::from_secs(120);
/// Bytes of the arguments that the checksum covers.
const CHECKED_BYTES: usize = 256;

/// What makes two calls the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    client: IpAddr,
    xid: u32,
    procedure: u32,
    /// User of the credential: processes of one host choose transaction ids on their own.
    user: Option<u32>,
    length_bytes: usize,
    checksum: u64,
}

impl Key {
    /// Key of a call with these arguments. The client's port is no part of it.
    pub fn new(client: IpAddr, xid: u32, procedure: u32, user: Option<u32>, arguments: &[u8]) -> Self {
        let checked = arguments.get(..CHECKED_BYTES).unwrap_or(arguments);
        let checksum = crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, checked);
        Self { client: client.to_canonical(), xid, procedure, user, length_bytes: arguments.len(), checksum }
    }
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyCounts {
    /// Repetitions that got a kept reply.
    pub repeated: u64,
    /// Repetitions that came while the call was executed.
    pub joined: u64,
    /// Replies that left before their time, because memory was short.
    pub evicted: u64,
}

/// Repetition that waits for the reply.
struct Waiting {
    number: u64,
    waker: Waker,
}

enum Entry {
    /// The call is executed. The newest repetition waits.
    Executing { execution: u64, waiting: Option<Waiting> },
    /// The call is executed, and the repetition with that number takes the reply over.
    Done { reply: Bytes, used: u64, since: Duration, taker: Option<u64> },
}

#[derive(Default)]
struct Kept {
    entries: BTreeMap<Key, Entry>,
    /// Kept replies by their last use.
    order: BTreeMap<u64, Key>,
    /// Number of the last use, execution or repetition.
    last: u64,
    bytes: usize,
    counts: ReplyCounts,
}

/// Kept replies.
#[derive(Default)]
pub(crate) struct Replies(RefCell<Kept>);

/// What becomes of a call.
pub(crate) enum Begin<'a> {
    /// It is executed, and the ticket ends with its reply.
    Execute(Ticket<'a>),
    /// It was executed: its reply.
    Repeat(Bytes),
    /// A later repetition gets the reply.
    Superseded,
}

/// Right to execute a call. Dropped, it leaves the execution to a repetition.
pub(crate) struct Ticket<'a> {
    replies: &'a Replies,
    key: Key,
    execution: u64,
    finished: bool,
}

impl Replies {
    /// Begins a call, or waits for the reply to the same one.
    pub async fn begin(&self, key: Key, now: Duration) -> Begin<'_> {
        let mut own = Repetition { replies: self, key, number: None };
        poll_fn(|context| {
            let mut kept = self.0.borrow_mut();
            kept.expire(now);
            let Some(entry) = kept.entries.get_mut(&key) else {
                own.number = None;
                return Poll::Ready(Begin::Execute(kept.execute(self, key)));
            };
            match (entry, own.number) {
                (Entry::Done { taker, reply, .. }, number) => {
                    if number.is_some() && *taker == number {
                        *taker = None;
                    } else if number.is_some() {
                        return Poll::Ready(Begin::Superseded);
                    }
                    let reply = reply.clone();
                    kept.counts.repeated += 1;
                    kept.touch(&key, now);
                    Poll::Ready(Begin::Repeat(reply))
                }
                (Entry::Executing { waiting: Some(waiting), .. }, Some(number)) if waiting.number == number => {
                    waiting.waker.clone_from(context.waker());
                    Poll::Pending
                }
                (Entry::Executing { waiting: Some(_), .. }, Some(_)) => Poll::Ready(Begin::Superseded),
                (Entry::Executing { .. }, _) => {
                    own.number = Some(kept.join(&key, context.waker().clone()));
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Bytes of memory that kept replies take.
    pub fn held_bytes(&self) -> usize {
        self.0.borrow().bytes
    }

    /// Counters.
    pub fn counts(&self) -> ReplyCounts {
        self.0.borrow().counts
    }
}

/// A repetition that waits; dropped, the reply goes to the earlier call again.
struct Repetition<'a> {
    replies: &'a Replies,
    key: Key,
    number: Option<u64>,
}

impl Drop for Repetition<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        if let Some(Entry::Executing { waiting, .. }) = self.replies.0.borrow_mut().entries.get_mut(&self.key)
            && waiting.as_ref().is_some_and(|waiting| waiting.number == number)
        {
            *waiting = None;
        }
    }
}

impl Kept {
    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn execute<'a>(&mut self, replies: &'a Replies, key: Key) -> Ticket<'a> {
        let execution = self.number();
        self.entries.insert(key, Entry::Executing { execution, waiting: None });
        Ticket { replies, key, execution, finished: false }
    }

    /// Makes a repetition the one that gets the reply, and returns its number.
    fn join(&mut self, key: &Key, waker: Waker) -> u64 {
        let number = self.number();
        self.counts.joined += 1;
        if let Some(Entry::Executing { waiting, .. }) = self.entries.get_mut(key)
            && let Some(earlier) = waiting.replace(Waiting { number, waker })
        {
            earlier.waker.wake();
        }
        number
    }

    /// Makes a reply the one that was used last.
    fn touch(&mut self, key: &Key, now: Duration) {
        let number = self.number();
        if let Some(Entry::Done { used, since, .. }) = self.entries.get_mut(key) {
            self.order.remove(used);
            self.order.insert(number, *key);
            (*used, *since) = (number, now);
        }
    }

    fn remove_oldest(&mut self) {
        if let Some((_, key)) = self.order.pop_first()
            && let Some(Entry::Done { reply, .. }) = self.entries.remove(&key)
        {
            self.bytes -= bytes_of(&reply);
        }
    }

    /// Removes replies that were kept long enough.
    fn expire(&mut self, now: Duration) {
        while let Some(key) = self.order.first_key_value().map(|(_, key)| key)
            && let Some(Entry::Done { since, .. }) = self.entries.get(key)
            && now.saturating_sub(*since) > LIFETIME
        {
            self.remove_oldest();
        }
    }

    /// Keeps a reply, and makes room for it.
    fn keep(&mut self, key: Key, reply: Bytes, taker: Option<u64>, now: Duration) {
        let bytes = bytes_of(&reply);
        while self.bytes + bytes > MOST_BYTES && !self.order.is_empty() {
            self.remove_oldest();
            self.counts.evicted += 1;
        }
        let used = self.number();
        self.bytes += bytes;
        self.order.insert(used, key);
        self.entries.insert(key, Entry::Done { reply, used, since: now, taker });
    }
}

/// Memory of a kept reply.
const fn bytes_of(reply: &Bytes) -> usize {
    ENTRY_BYTES + reply.len()
}

impl Ticket<'_> {
    /// Ends the execution with a reply, which is kept. Returns false if a repetition takes it over.
    pub fn finish(mut self, reply: &[u8], now: Duration) -> bool {
        self.finished = true;
        let waiting = self.end();
        let taker = waiting.as_ref().map(|waiting| waiting.number);
        self.replies.0.borrow_mut().keep(self.key, Bytes::copy_from_slice(reply), taker, now);
        match waiting {
            Some(waiting) => {
                waiting.waker.wake();
                false
            }
            None => true,
        }
    }

    /// Removes the execution, and returns the repetition that waits for it.
    fn end(&self) -> Option<Waiting> {
        let mut kept = self.replies.0.borrow_mut();
        match kept.entries.get(&self.key) {
            Some(Entry::Executing { execution, .. }) if *execution == self.execution => {}
            _ => return None,
        }
        match kept.entries.remove(&self.key) {
            Some(Entry::Executing { waiting, .. }) => waiting,
            _ => None,
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.finished
            && let Some(waiting) = self.end()
        {
            waiting.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests;
