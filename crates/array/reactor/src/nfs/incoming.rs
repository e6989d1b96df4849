//! Records that arrive on a connection, and the memory that they need.
//!
//! Memory for a record is taken before it is received, and belongs to its call until that is done. A record that
//! has arrived without it, with others in one read, waits.

use super::super::memory::{Account, RECEIVE_BYTES};
use bytes::{Bytes, BytesMut};
use nfs::v4::compound::MAX_MESSAGE_BYTES;
use onc_rpc::record::{HEADER_BYTES, Progress, Reassembly, RecordError};
use std::rc::Rc;

/// Longest record that is copied out of the receive buffer, which it would keep as long as its call lasts.
const SHORT_BYTES: usize = 8 << 10;
/// Longest record that is copied if too many receive buffers are kept. The memory of a longer one has its length.
const MEDIUM_BYTES: usize = 64 << 10;
/// Longest record that lets the next one be received in memory of its length: nothing has been taken for that yet.
const EXPECTED_BYTES: usize = RECEIVE_BYTES + (32 << 10);

/// Records that arrive.
pub(super) struct Incoming {
    reassembly: Reassembly,
    account: Rc<Account>,
    /// Bytes that were taken for the record that arrives.
    taken_bytes: usize,
    /// Record that has arrived and waits for memory.
    parked: Option<Bytes>,
    /// True while memory is waited for.
    waits: bool,
    /// Length of the last record in the stream, if the next one may be as long and is to have memory of its own.
    expected_bytes: usize,
}

/// Record with the memory that it holds.
pub(super) struct Arrived {
    pub record: Bytes,
    memory: RecordMemory,
}

/// Memory of a record, returned when it is dropped.
pub(super) struct RecordMemory {
    account: Rc<Account>,
    bytes: usize,
    /// True if the record is in a receive buffer that counts as kept.
    in_place: bool,
}

/// What comes next.
pub(super) enum Next {
    /// A record.
    Record(Arrived),
    /// More has to be received.
    Missing,
    /// That many bytes have to be received, in memory of the record's own.
    MissingLong(usize),
    /// The connection waits for memory, and is woken when it may try again.
    NoMemory,
}

impl Incoming {
    /// `account`: of data from hosts.
    pub fn new(account: Rc<Account>) -> Self {
        Self {
            reassembly: Reassembly::new(MAX_MESSAGE_BYTES as usize),
            account,
            taken_bytes: 0,
            parked: None,
            waits: false,
            expected_bytes: 0,
        }
    }

    /// True while memory is waited for.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// True if part of a record has arrived.
    pub fn is_partial(&self, received: &[u8]) -> bool {
        self.parked.is_some() || !received.is_empty() || self.reassembly.held_bytes() > 0
    }

    /// Takes the next record from `received`. After an error the stream cannot be resumed.
    pub fn next(&mut self, received: &mut BytesMut) -> Result<Next, RecordError> {
        let record = match self.parked.take() {
            Some(record) => record,
            None => match self.reassembly.take(received)? {
                Progress::Record(record) => record,
                Progress::Incomplete { missing_bytes } => {
                    let announced_bytes = self.reassembly.held_bytes() + received.len() + missing_bytes;
                    return Ok(match self.take(announced_bytes) {
                        true if received.is_empty() && self.expected_bytes > 0 => {
                            Next::MissingLong(self.expected_bytes)
                        }
                        true if received.len() + missing_bytes > MEDIUM_BYTES => Next::MissingLong(missing_bytes),
                        true => Next::Missing,
                        false => Next::NoMemory,
                    });
                }
            },
        };
        if !self.take(record.len()) {
            self.parked = Some(record);
            return Ok(Next::NoMemory);
        }
        Ok(Next::Record(self.arrived(record)))
    }

    /// Takes memory for a record up to this length. If false, the connection is in the queue.
    fn take(&mut self, record_bytes: usize) -> bool {
        let more_bytes = record_bytes.saturating_sub(self.taken_bytes);
        let taken = more_bytes == 0 || self.account.take(more_bytes, true);
        if taken {
            self.taken_bytes += more_bytes;
        }
        self.waits = !taken;
        taken
    }

    fn arrived(&mut self, record: Bytes) -> Arrived {
        let bytes = std::mem::take(&mut self.taken_bytes);
        let expects = (MEDIUM_BYTES..EXPECTED_BYTES).contains(&record.len());
        self.expected_bytes = if expects { record.len() + HEADER_BYTES } else { 0 };
        let short = record.len() <= SHORT_BYTES;
        let in_place = !short && record.len() <= MEDIUM_BYTES && self.account.stays_in_place();
        let record =
            if short || (record.len() <= MEDIUM_BYTES && !in_place) { Bytes::copy_from_slice(&record) } else { record };
        Arrived { record, memory: RecordMemory { account: Rc::clone(&self.account), bytes, in_place } }
    }
}

impl Arrived {
    /// The record, and its memory, to be kept as long as the record is in use.
    pub fn into_parts(self) -> (Bytes, RecordMemory) {
        (self.record, self.memory)
    }
}

impl Drop for RecordMemory {
    fn drop(&mut self) {
        if self.in_place {
            self.account.left_place(1);
        }
        self.account.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::super::super::memory::{Budget, DataMemory, SHARE_BYTES};
    use super::*;
    use bytes::BufMut;
    use tokio::sync::Notify;

    /// Records of connections that share a budget of `limit_bytes`.
    fn connections<const N: usize>(limit_bytes: usize) -> [Incoming; N] {
        let memory = DataMemory::new(Budget::new(limit_bytes, 0));
        [(); N].map(|()| Incoming::new(Rc::new(Account::new(memory.clone(), Rc::new(Notify::new())))))
    }

    fn stream(records: &[usize]) -> BytesMut {
        let mut stream = BytesMut::new();
        for length in records {
            stream.put_slice(&onc_rpc::record::header(*length).unwrap());
            stream.put_bytes(7, *length);
        }
        stream
    }

    fn record(next: Result<Next, RecordError>) -> Arrived {
        match next {
            Ok(Next::Record(arrived)) => arrived,
            Ok(Next::Missing | Next::MissingLong(_)) => panic!("the record is not there"),
            Ok(Next::NoMemory) => panic!("there is no memory"),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn memory_belongs_to_a_record_until_its_call_is_done() {
        let [mut incoming] = connections(1 << 20);
        let mut received = stream(&[100, 20_000]);
        let first = record(incoming.next(&mut received));
        let second = record(incoming.next(&mut received));
        assert_eq!((first.record.len(), second.record.len()), (100, 20_000));
        assert!(matches!(incoming.next(&mut received), Ok(Next::Missing)));
        // The header of the next record is announced already.
        assert_eq!(incoming.account.held_bytes(), 20_100 + 4);
        drop((first, second));
        assert_eq!(incoming.account.held_bytes(), 4);
    }

    /// Nothing is received for a record for which there is no memory, and no record gets lost meanwhile.
    #[test]
    fn a_record_waits_for_memory() {
        let [mut first, mut second, mut third] = connections(2 << 20);
        let large = 1 << 20;
        let mut streams = [stream(&[large]), stream(&[large, 50]), stream(&[large])];
        let held = record(first.next(&mut streams[0]));
        // One connection at a time may exceed the budget.
        let beyond = record(second.next(&mut streams[1]));
        let mut head = streams[2].split_to(1000);
        assert!(matches!(third.next(&mut head), Ok(Next::NoMemory)));
        assert!(third.waits() && third.account.held_bytes() <= SHARE_BYTES);
        drop(held);
        drop(beyond);
        head.unsplit(streams[2].split());
        assert_eq!(record(third.next(&mut head)).record.len(), large);
        assert!(!third.waits());
        assert_eq!(record(second.next(&mut streams[1])).record.len(), 50);
    }

    #[test]
    fn a_whole_record_without_memory_is_not_lost() {
        let [mut first, mut second, mut third] = connections(2 << 20);
        let large = 1 << 20;
        let mut streams = [stream(&[large]), stream(&[large]), stream(&[large, 9])];
        let one = record(first.next(&mut streams[0]));
        let two = record(second.next(&mut streams[1]));
        assert!(matches!(third.next(&mut streams[2]), Ok(Next::NoMemory)));
        assert!(matches!(third.next(&mut streams[2]), Ok(Next::NoMemory)));
        drop((one, two));
        assert_eq!(record(third.next(&mut streams[2])).record.len(), large);
        assert_eq!(record(third.next(&mut streams[2])).record.len(), 9);
    }

    /// Regression: a WRITE of 128 KiB was moved to a larger buffer when its last bytes came, and what had arrived of
    /// the next one was copied out of that.
    #[test]
    fn a_long_record_has_memory_of_its_length() {
        let [mut incoming] = connections(1 << 20);
        let missing = |next| match next {
            Ok(Next::MissingLong(bytes)) => Some(bytes),
            Ok(Next::Missing) => None,
            _ => panic!("no bytes are missing"),
        };
        let long = 128 << 10;
        let mut whole = stream(&[long, long, 100, 100]);
        let mut received = whole.split_to(1000);
        assert_eq!(missing(incoming.next(&mut received)), Some(long + 4 - 1000));
        received.unsplit(whole.split_to(long + 4 - 1000));
        record(incoming.next(&mut received));
        assert_eq!(missing(incoming.next(&mut received)), Some(long + 4), "another one is expected");
        received.unsplit(whole.split_to(long + 4));
        record(incoming.next(&mut received));
        received.unsplit(whole.split_to(104));
        record(incoming.next(&mut received));
        assert_eq!(missing(incoming.next(&mut received)), None);
        received.unsplit(whole.split_to(50));
        assert_eq!(missing(incoming.next(&mut received)), None);
    }

    #[test]
    fn a_record_that_is_too_long_is_refused_at_its_header() {
        let [mut incoming] = connections(1 << 20);
        let mut received = BytesMut::from(&onc_rpc::record::header(MAX_MESSAGE_BYTES as usize + 1).unwrap()[..]);
        assert!(matches!(incoming.next(&mut received), Err(RecordError::TooLong { .. })));
    }
}
