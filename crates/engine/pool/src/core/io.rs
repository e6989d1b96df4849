//! Purposes of requests to the medium.

use crate::checksum::Crc32c;
use crate::content::data::Data;
use crate::content::stock::Stock;
use crate::geometry::Pointer;
use crate::index::{Expected, PageNumber};
use crate::interface::ObjectId;
use crate::interface::operation::OperationId;
use crate::interface::range::BlockNumber;
use crate::map::page::{PAGE_BYTES, Page, StatedMapped};
use crate::space::FreeRun;
use crate::space::slot::SlotEntry;
use bytes::Bytes;
use media::{BlockAddress, Buffer};
use smallvec::SmallVec;
use std::rc::Rc;
use zerocopy::IntoBytes;

/// Purpose of a request to the medium.
pub(crate) enum Io {
    Page {
        address: BlockAddress,
        level: u8,
        crc: Crc32c,
        retried: bool,
    },
    Segment {
        segment: u32,
        retried: bool,
    },
    /// Content of neighbouring blocks; the address is that of the first one.
    Blocks {
        address: BlockAddress,
        crcs: SmallVec<[Crc32c; 1]>,
        retried: bool,
    },
    /// Read of an operation's blocks: (block within the object, CRC) for each block of the buffer.
    Read {
        operation: OperationId,
        blocks: SmallVec<[(u64, Crc32c); 1]>,
        address: BlockAddress,
    },
    /// Read of the check in progress.
    Check {
        generation: u64,
        read: CheckRead,
    },
    /// Read of an operation that verifies blocks: block of the object, address, CRC.
    Verify {
        operation: OperationId,
        blocks: Vec<(BlockNumber, BlockAddress, Crc32c)>,
    },
    /// Content of a large write. `held`: address and content, if its record goes together with it.
    Placed {
        operation: OperationId,
        held: Option<(BlockAddress, Bytes)>,
    },
    PlacedFlush {
        operations: Vec<OperationId>,
    },
    Frame {
        position: u64,
    },
    /// Repeated write of a replayed frame.
    Confirm {
        position: u64,
        frame: Buffer,
    },
    Destage {
        addresses: Vec<BlockAddress>,
        data: Vec<(BlockAddress, Data)>,
        retried: bool,
    },
    Checkpoint {
        blocks: usize,
        rewrite: Rewrite,
    },
    CheckpointFlush,
    Swap,
    Discard(FreeRun),
}

/// Read of a check of the pool in use.
pub(crate) enum CheckRead {
    Page(MapPage),
    Index(IndexRead),
    Counts { segment: u32, entry: SlotEntry },
}

/// Map page to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapPage {
    pub pointer: Pointer,
    pub object: ObjectId,
    /// First block of the object below the page.
    pub first: BlockNumber,
    /// Number of mapped blocks according to the parent.
    pub expected_mapped: Option<StatedMapped>,
}

/// Page of the index to read.
pub(crate) enum IndexRead {
    /// Node, with its place in the tree.
    Node(Expected),
    /// Page of a long value, with its position in the value.
    Value(PageNumber, u32),
}

impl IndexRead {
    /// Number of the page.
    pub fn number(&self) -> PageNumber {
        match self {
            Self::Node(expected) => expected.number,
            Self::Value(number, _) => *number,
        }
    }
}

/// Write of a checkpoint; can be repeated.
pub(crate) enum Rewrite {
    /// Neighbouring pages; the address is that of the first one.
    Pages(Vec<(BlockAddress, Rc<Page>)>),
    /// Other blocks.
    Blocks(BlockAddress, Buffer),
}

impl Rewrite {
    /// Address and content of the write.
    pub fn request(&self, stock: &Stock) -> (BlockAddress, Buffer) {
        match self {
            Self::Pages(run) => {
                let mut buffer = stock.take(run.len());
                for ((_, page), block) in run.iter().zip(buffer.as_blocks_mut()) {
                    let (content, rest) = block.0.split_at_mut(PAGE_BYTES);
                    content.copy_from_slice(page.as_bytes());
                    rest.fill(0);
                }
                (run.first().map_or(BlockAddress::NONE, |(address, _)| *address), buffer)
            }
            Self::Blocks(address, buffer) => (*address, buffer.clone()),
        }
    }
}
