//! State of an operation between its attempts.

use crate::checksum::Crc32c;
use crate::content::data::Data;
use crate::content::stock::Stock;
use crate::core::scan::cursor::Scan;
use crate::core::scan::descent::Descent;
use crate::interface::ObjectId;
use crate::interface::operation::OperationId;
use crate::interface::range::BlockNumber;
use crate::map::assign::Source;
use crate::transaction::Attempt;
use crate::transaction::changes::Changes;
use crate::transaction::view::Seen;
use bytes::Bytes;
use media::{BLOCK_BYTES, Block, BlockAddress, Buffer};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// State of a large write whose data goes straight to its place.
pub(crate) struct Placed {
    /// For each aligned block: address, or 0 for zeros, and CRC.
    pub blocks: Vec<(BlockAddress, Crc32c)>,
    /// Writes of its content that have not completed.
    pub writes: u32,
    /// The content is durable.
    pub flushed: bool,
    /// Content and record are written together.
    pub together: bool,
    /// Bytes of content whose record goes together with them.
    pub open_bytes: u64,
    /// Object, and the number of the blocks that were promised to it.
    pub object: ObjectId,
    pub covered: u64,
}

impl Placed {
    /// Its blocks, for the change of the map.
    pub fn sources(&self) -> Vec<Source> {
        let source = |&(address, crc): &(BlockAddress, Crc32c)| match address.is_none() {
            true => Source::Zero,
            false => Source::Placed(address, crc),
        };
        self.blocks.iter().map(source).collect()
    }

    /// True if some of its blocks are zero.
    pub fn has_zeros(&self) -> bool {
        self.blocks.iter().any(|(address, _)| address.is_none())
    }

    /// True if its record may be logged now.
    pub fn may_be_logged(&self) -> bool {
        self.flushed || self.together
    }
}

/// State of a read that waits for the medium.
pub(crate) struct ReadState {
    pub out: Gathered,
    pub outstanding: u32,
    /// First unreadable block or block with a wrong checksum: its index in the read, and its
    /// address.
    pub bad: Option<(usize, BlockAddress)>,
    pub tries: u8,
    /// True for content as a look saw it: the map is not consulted again.
    pub of_a_look: bool,
}

/// Transaction between its attempts.
pub(crate) struct InTransaction {
    /// `None`: its submitter keeps it, and makes each attempt.
    pub body: Option<Box<dyn Attempt>>,
    /// Changes that the last attempt named.
    pub changes: Changes,
    /// Blocks whose content the last attempt needed.
    pub seen: Seen,
    /// Pages and blocks that eviction spares for it.
    pub pins: Vec<BlockAddress>,
    /// Payload whose blocks it has taken, and its object.
    pub payload: Option<(ObjectId, Bytes)>,
    /// Number of times that it has taken blocks.
    pub placements: u32,
    /// Content that earlier attempts have seen, which no attempt may rely on.
    pub remembered: FxHashMap<(ObjectId, BlockNumber), Option<Data>>,
}

impl InTransaction {
    /// Begins a transaction.
    pub fn new(body: Option<Box<dyn Attempt>>) -> Self {
        Self {
            body,
            changes: Changes::default(),
            seen: Seen::new(),
            pins: Vec::new(),
            payload: None,
            placements: 0,
            remembered: FxHashMap::default(),
        }
    }

    /// Number of blocks of its payload.
    pub fn payload_blocks(&self) -> usize {
        self.payload.as_ref().map_or(0, |(_, data)| data.len() / BLOCK_BYTES)
    }
}

/// Who submitted an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A host, or administration.
    #[default]
    Host,
    /// The replication group of the object that it changes.
    Group,
}

#[derive(Default)]
pub(crate) struct Progress {
    pub transaction: Option<Box<InTransaction>>,
    pub placed: Option<Placed>,
    pub origin: Origin,
    pub read: Option<ReadState>,
    pub scan: Option<Box<Scan>>,
    pub difference: Option<Box<Descent>>,
    pub space_tries: u8,
    /// It waits for the owner's offer to free space.
    pub awaits_offer: bool,
    /// Number of waits for reads.
    pub waits: u16,
    /// Space that the operation did not find.
    pub refused: Option<Refused>,
    pub flush_sequence: Option<u64>,
    /// True if other operations wait for the log ahead of this one.
    pub is_behind: bool,
    /// Unreadable block: address and CRC at the time of the read.
    pub bad_block: Option<(BlockAddress, Crc32c)>,
    /// Address of an unreadable map page that the operation needs.
    pub bad_page: Option<BlockAddress>,
}

impl Progress {
    /// Notes an unreadable page, for a scan.
    pub fn note_bad_page(&mut self, address: BlockAddress, reason: &str) {
        if let Some(scan) = &mut self.scan {
            scan.note_bad_page(address, reason);
        }
        if let Some(difference) = &mut self.difference {
            difference.note_bad_page(address, reason);
        }
    }
}

/// Data that a read has gathered.
#[derive(Debug)]
pub(crate) enum Gathered {
    Nothing,
    /// The one block of a read of one block, shared with the cache.
    Block(Data),
    /// The whole data, from one request.
    Whole(Buffer),
    /// Parts from several places, with zeros for unmapped blocks.
    Parts(Buffer),
}

impl Gathered {
    /// Buffer for the parts of `count` blocks, with arbitrary content: each part must be stored.
    pub(crate) fn parts(&mut self, count: usize, stock: &Stock) -> &mut [Block] {
        if !matches!(self, Self::Parts(_)) {
            *self = Self::Parts(stock.take(count));
        }
        match self {
            Self::Parts(parts) => parts.as_blocks_mut(),
            _ => &mut [],
        }
    }

    /// The gathered bytes from `from` on.
    pub(crate) fn into_bytes(self, from: usize, length: usize, stock: &Stock) -> Bytes {
        let bytes = match self {
            Self::Nothing => Bytes::new(),
            Self::Block(data) => data.lend(),
            Self::Whole(buffer) | Self::Parts(buffer) => stock.lend(buffer),
        };
        if bytes.len() == length { bytes } else { bytes.slice(from..from + length) }
    }
}

/// Refusal of an operation for lack of space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    /// True if all lasting blocks that it requests were promised to it.
    pub entitled: bool,
    /// Number of blocks that had to be allocatable.
    pub needed: u64,
    /// Promise that the operation would make, if it makes one.
    pub promise: Option<RefusedPromise>,
}

/// Promise of space that is not possible now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusedPromise {
    /// Number of blocks to be promised.
    pub needed: u64,
    /// Number of blocks that could be promised.
    pub left: u64,
}

/// Large writes whose data goes straight to its place.
#[derive(Default)]
pub(crate) struct PlacedWrites {
    /// Number of writes that have taken their blocks and not yet taken effect.
    in_progress: usize,
    /// Writes whose data is written and not yet flushed.
    unflushed: Vec<OperationId>,
    flushing: bool,
    /// Writes that took effect while their content was being written.
    logged: FxHashMap<OperationId, Logged>,
    /// Records that are not durable yet and went together with their content, oldest first: number,
    /// and bytes of content.
    open: VecDeque<(u64, u64)>,
    /// Bytes of content written together with records that are not durable yet.
    open_bytes: u64,
    /// A checkpoint has been requested that permits records beside their content.
    asked: bool,
}

/// Large write that took effect before its content was durable.
struct Logged {
    /// Number of its record.
    sequence: u64,
    /// Writes of its content that have not completed.
    writes: u32,
}

impl PlacedWrites {
    /// Notes that a write has taken its blocks.
    pub fn begin(&mut self, placed: &Placed) {
        self.in_progress += 1;
        self.open_bytes += placed.open_bytes;
    }

    /// Notes that a write takes effect or has failed.
    pub fn end(&mut self, placed: &Placed) {
        self.in_progress -= 1;
        self.open_bytes -= placed.open_bytes;
    }

    /// Number of writes that have taken their blocks and not yet taken effect.
    pub fn in_progress(&self) -> usize {
        self.in_progress
    }

    /// Notes that the data of a write is written.
    pub fn note_written(&mut self, id: OperationId) {
        self.unflushed.push(id);
    }

    /// True while a flush for large writes is in flight.
    pub fn is_flushing(&self) -> bool {
        self.flushing
    }

    /// Takes the writes to flush now; none while a flush is in flight.
    pub fn take_unflushed(&mut self) -> Vec<OperationId> {
        if self.flushing { Vec::new() } else { std::mem::take(&mut self.unflushed) }
    }

    /// Bytes of content written together with records that are not durable yet.
    pub fn open_bytes(&self) -> u64 {
        self.open_bytes
    }

    /// True when called for the first time.
    pub fn ask_for_feature(&mut self) -> bool {
        !std::mem::replace(&mut self.asked, true)
    }

    /// Notes that a write took effect with record `sequence` while its content was being written.
    pub fn note_logged(&mut self, id: OperationId, sequence: u64, placed: &Placed) {
        self.logged.insert(id, Logged { sequence, writes: placed.writes });
        self.open.push_back((sequence, placed.open_bytes));
        self.open_bytes += placed.open_bytes;
    }

    /// True if the write took effect while its content was being written, and still is.
    pub fn is_logged(&self, id: OperationId) -> bool {
        self.logged.contains_key(&id)
    }

    /// Notes that one write of the content of an operation that took effect has completed; returns
    /// the number of its record if it was the last.
    pub fn note_content(&mut self, id: OperationId) -> Option<u64> {
        let logged = self.logged.get_mut(&id)?;
        logged.writes -= 1;
        let (done, sequence) = (logged.writes == 0, logged.sequence);
        if done {
            self.logged.remove(&id);
        }
        done.then_some(sequence)
    }

    /// Notes that all records below `sequence` are durable.
    pub fn note_durable(&mut self, sequence: u64) {
        while self.open.front().is_some_and(|(record, _)| *record < sequence)
            && let Some((_, bytes)) = self.open.pop_front()
        {
            self.open_bytes -= bytes;
        }
    }

    /// Notes the start or the end of a flush.
    pub fn set_flushing(&mut self, flushing: bool) {
        self.flushing = flushing;
    }
}
