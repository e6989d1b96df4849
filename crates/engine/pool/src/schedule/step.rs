//! How far an operation got, what it waits for, and what it has set aside.

use crate::interface::operation::{Failure, Operation, Output};

/// Things an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Page(u64),
    Segment(u32),
    Block(u64),
}

/// What planning found missing.
#[derive(Default)]
pub(crate) struct Need {
    pub pages: Vec<(u64, u8, u32)>,
    pub segments: Vec<u32>,
    pub blocks: Vec<(u64, u32)>,
    /// Pages that will be allocated.
    pub allocations: u64,
    /// Those among them that take the place of a page which comes back at the next checkpoint.
    pub passing: u64,
    /// Entries to be written that map nothing yet.
    pub fresh: u64,
    /// Count a page once although several pieces need it. Only for changes that never allocate what they gave back.
    pub once: bool,
    /// Object and number of the page counted last at each level, for `once`.
    pub counted: [(u64, u64); 4],
    /// A contradiction in the stored map.
    pub damaged: Option<String>,
}

impl Need {
    pub fn clear(&mut self) {
        self.pages.clear();
        self.segments.clear();
        self.blocks.clear();
        self.allocations = 0;
        self.passing = 0;
        self.fresh = 0;
        self.counted = Default::default();
        self.damaged = None;
    }
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.segments.is_empty() && self.blocks.is_empty() && self.damaged.is_none()
    }
}

/// How far an operation got.
pub(crate) enum Step {
    /// Finished.
    Done(Output),
    /// Took effect; finished when everything logged so far is durable.
    Durable(Output),
    /// `need` says what has to be read first.
    Wait,
    /// No free blocks now; a checkpoint or reclaim may bring some.
    Space,
    /// The log is full until the next checkpoint.
    LogFull,
    /// Waits for I/O of its own.
    Io,
    /// Made progress and wants another turn at once.
    Again,
    /// Made progress and wants another turn after others had theirs.
    Later,
    /// Failed.
    Fail(Failure),
}

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
    pub out: crate::core::operation::read::Gathered,
    pub outstanding: u32,
    /// The first block, counted from the start of the read, that did not match its checksum or could not be read.
    pub bad: Option<(usize, u64)>,
    pub tries: u8,
}

#[derive(Default)]
pub(crate) struct Progress {
    pub placed: Option<Placed>,
    pub read: Option<ReadState>,
    pub scan: Option<Box<crate::core::scan::Scan>>,
    pub space_tries: u8,
    /// How often it had to wait for something to be read.
    pub waits: u16,
    /// What the operation found no room for.
    pub refused: Option<crate::core::admission::Refused>,
    pub flush_sequence: Option<u64>,
    /// A block that could not be read, as it was mapped then.
    pub bad_block: Option<(u64, u32)>,
    /// Address of a map page that the operation needs and that could not be read.
    pub bad_page: Option<u64>,
}

pub(crate) struct Pending {
    pub operation: Operation,
    pub progress: Progress,
    pub waiting: u32,
    pub failed: Option<Failure>,
}
