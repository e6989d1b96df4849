//! What an operation has done and set aside between its attempts.

use crate::content::stock::Stock;
use crate::core::scan::cursor::Scan;
use crate::interface::operation::OperationId;
use bytes::Bytes;
use media::BLOCK_BYTES;
use media::Buffer;
/// State of a large write whose data goes straight to its place.
pub(crate) struct Placed {
    /// Per aligned block: address or 0 for zeros, and CRC.
    pub blocks: Vec<(u64, u32)>,
    pub writes: u32,
    pub flushed: bool,
    /// The object, and how many of the blocks were promised to it.
    pub object: u64,
    pub covered: u64,
}

/// State of a read that waits for the medium.
pub(crate) struct ReadState {
    pub out: Gathered,
    pub outstanding: u32,
    /// The first block, counted from the start of the read, that did not match its checksum or could not be read.
    pub bad: Option<(usize, u64)>,
    pub tries: u8,
}

#[derive(Default)]
pub(crate) struct Progress {
    pub placed: Option<Placed>,
    pub read: Option<ReadState>,
    pub scan: Option<Box<Scan>>,
    pub space_tries: u8,
    /// How often it had to wait for something to be read.
    pub waits: u16,
    /// What the operation found no room for.
    pub refused: Option<Refused>,
    pub flush_sequence: Option<u64>,
    /// A block that could not be read, as it was mapped then.
    pub bad_block: Option<(u64, u32)>,
    /// Address of a map page that the operation needs and that could not be read.
    pub bad_page: Option<u64>,
}

/// What a read has gathered.
#[derive(Debug)]
pub(crate) enum Gathered {
    Nothing,
    /// All of it, as one request brought it.
    Whole(Buffer),
    /// Parts from several places; zeros where nothing is mapped.
    Parts(Vec<u8>),
}

impl Gathered {
    /// Where the parts of `count` blocks come together.
    pub(crate) fn parts(&mut self, count: usize) -> &mut [u8] {
        if !matches!(self, Self::Parts(_)) {
            *self = Self::Parts(vec![0; count * BLOCK_BYTES]);
        }
        match self {
            Self::Parts(parts) => parts,
            _ => &mut [],
        }
    }

    pub(crate) fn into_bytes(self, stock: &Stock) -> Bytes {
        match self {
            Self::Nothing => Bytes::new(),
            Self::Whole(buffer) => stock.lend(buffer),
            Self::Parts(parts) => parts.into(),
        }
    }
}

/// An operation that found no room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    /// Everything that it asks for to keep was promised to it.
    pub entitled: bool,
    /// Blocks that would have had to be allocatable.
    pub needed: u64,
    /// What would have to be promised, and is left for it.
    pub promise: Option<(u64, u64)>,
}

/// Large writes whose data goes straight to its place.
#[derive(Default)]
pub(crate) struct PlacedWrites {
    /// Those whose blocks are taken and that have not taken effect.
    in_progress: usize,
    /// Those whose data is written and not flushed.
    unflushed: Vec<OperationId>,
    flushing: bool,
}

impl PlacedWrites {
    /// Blocks of a write are taken.
    pub fn begin(&mut self) {
        self.in_progress += 1;
    }

    /// A write takes effect or fails.
    pub fn end(&mut self) {
        self.in_progress -= 1;
    }

    /// Writes whose blocks are taken and that have not taken effect.
    pub fn in_progress(&self) -> usize {
        self.in_progress
    }

    /// The data of a write is written.
    pub fn note_written(&mut self, id: OperationId) {
        self.unflushed.push(id);
    }

    /// True while a flush for large writes is with the medium.
    pub fn is_flushing(&self) -> bool {
        self.flushing
    }

    /// Writes to flush now; nothing while a flush is with the medium.
    pub fn take_unflushed(&mut self) -> Vec<OperationId> {
        if self.flushing { Vec::new() } else { std::mem::take(&mut self.unflushed) }
    }

    /// A flush goes to the medium, or has ended.
    pub fn set_flushing(&mut self, flushing: bool) {
        self.flushing = flushing;
    }
}
