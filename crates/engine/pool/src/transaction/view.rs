//! What an attempt of a transaction sees, and through which it names its changes.

mod allotments;
pub(crate) mod ranges;

use super::Missing;
use super::changes::{Changes, Found};
use super::contents::{Content, Place};
use super::edits::Edits;
use crate::content::data::Data;
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange, ByteRange};
use block::BlockError;
use bytes::Bytes;
use media::BLOCK_BYTES;
use smallvec::SmallVec;
use std::ops::{Deref, Range};

const B: u64 = BLOCK_BYTES as u64;
static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Largest payload in bytes that becomes content of single blocks, which goes through the log.
pub(crate) const INLINE_BYTES: usize = 32 << 10;

/// The pool as it is now.
pub(crate) trait Present {
    /// An object.
    fn object(&self, id: ObjectId) -> Option<Named>;
    /// Content of a block, `Some(None)` for one that is not mapped. `None`: not in memory, which is noted.
    fn content(&mut self, object: ObjectId, block: BlockNumber) -> Option<Option<Data>>;
    /// Copies content, into memory that is used already if there is some.
    fn copy_of(&mut self, content: &[u8; BLOCK_BYTES]) -> Data;
    /// Whether content that is zero is not mapped in an object.
    fn detects_zeros(&self, object: ObjectId) -> bool;
    /// Space of the pool for an object.
    fn room(&self, object: ObjectId) -> Room;
    /// Number of mapped blocks in a range. `None`: as for [`Self::content`].
    fn mapped(&mut self, object: ObjectId, blocks: BlockRange) -> Option<u64>;
    /// First block from one on that is mapped, or is not; behind the object if there is none. `Err`: how far
    /// the search has come, where something is not in memory, which is noted.
    fn next(&mut self, object: ObjectId, from: BlockNumber, mapped: bool) -> Result<BlockNumber, BlockNumber>;
    /// Allotted parts of a range, in order; none touches the next.
    fn allotted(&self, object: ObjectId, blocks: BlockRange) -> Vec<BlockRange>;
    /// Blocks that the allotments in a range promise. `None`: as for [`Self::content`].
    fn promised(&mut self, object: ObjectId, blocks: BlockRange) -> Option<u64>;
}

/// Object that an attempt names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub id: ObjectId,
    pub size_bytes: u64,
    pub is_capture: bool,
    /// True for a volume that is no replica.
    pub takes_changes: bool,
}

/// Space of the pool in blocks, as an object sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Blocks of the ceiling of the object, or of the whole pool if that is smaller.
    pub total_blocks: u64,
    /// Blocks that can take new data of the object, at the latest after the next checkpoint.
    pub free_blocks: u64,
    /// Blocks that count against its ceiling: those that it maps, and those that are promised to it.
    pub used_blocks: u64,
}

/// Blocks that an attempt has looked at; few take no memory of their own.
pub(crate) type Seen = SmallVec<[Place; 8]>;

/// Content of one block; cheap to clone.
#[derive(Clone, Debug)]
pub struct BlockContent(Held);

#[derive(Clone, Debug)]
enum Held {
    Zeros,
    Data(Data),
    Payload(Bytes),
}

impl Deref for BlockContent {
    type Target = [u8; BLOCK_BYTES];

    #[inline]
    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Held::Zeros => &ZEROS,
            Held::Data(data) => data,
            Held::Payload(bytes) => bytes.first_chunk().unwrap_or(&ZEROS),
        }
    }
}

/// View of the pool in one attempt of a transaction. Changes named so far are seen.
///
/// Every method returns [`Missing`] if the attempt must end; what it needs is then read. A range outside
/// of an object, or a change of a snapshot or replica, fails the transaction.
pub struct View<'a> {
    present: &'a mut dyn Present,
    changes: &'a mut Changes,
    /// Blocks whose present content was needed; absent where nobody wants to know.
    seen: Option<&'a mut Seen>,
    refusal: Option<BlockError>,
    writable: bool,
    /// Bytes that the attempt has read.
    read_bytes: u64,
    /// Object that was looked up last. None changes during an attempt.
    last: Option<Named>,
}

impl<'a> View<'a> {
    pub(crate) fn new(present: &'a mut dyn Present, changes: &'a mut Changes, seen: &'a mut Seen) -> Self {
        Self { present, changes, seen: Some(seen), refusal: None, writable: true, read_bytes: 0, last: None }
    }

    /// View that takes no changes. `changes` is empty.
    pub(crate) fn read_only(present: &'a mut dyn Present, changes: &'a mut Changes) -> Self {
        Self { present, changes, seen: None, refusal: None, writable: false, read_bytes: 0, last: None }
    }

    /// Failure of the transaction, if something that it asked for is not possible.
    pub(crate) fn into_refusal(self) -> Option<BlockError> {
        self.refusal
    }

    #[cold]
    fn refuse(&mut self, error: BlockError) -> Missing {
        self.refusal.get_or_insert(error);
        Missing(())
    }

    fn internal(&mut self, reason: &str) -> Missing {
        self.refuse(BlockError::Internal { reason: reason.into() })
    }

    /// Size of an object in bytes.
    pub fn size_bytes(&mut self, object: ObjectId) -> Result<u64, Missing> {
        match self.object(object) {
            Some(object) => Ok(object.size_bytes),
            None => Err(self.refuse(BlockError::Gone)),
        }
    }

    /// Object of this id.
    #[inline]
    fn object(&mut self, id: ObjectId) -> Option<Named> {
        if let Some(last) = self.last
            && last.id == id
        {
            return Some(last);
        }
        self.last = Some(self.present.object(id)?);
        self.last
    }

    /// Space of the pool for an object, before the changes so far.
    pub fn room(&mut self, object: ObjectId) -> Result<Room, Missing> {
        self.size_bytes(object)?;
        Ok(self.present.room(object))
    }

    /// Says that the transaction serves to free space: the few blocks that it needs for that are admitted above
    /// a ceiling.
    pub fn frees_space(&mut self) {
        self.changes.frees_space = true;
    }

    /// Checks that bytes are inside of an object.
    fn inside(&mut self, object: ObjectId, offset: u64, length: u64) -> Result<(), Missing> {
        let size_bytes = self.size_bytes(object)?;
        if offset.checked_add(length).is_some_and(|end| end <= size_bytes) {
            return Ok(());
        }
        Err(self.refuse(BlockError::OutOfRange {
            lba: offset / 512,
            count: length.div_ceil(512),
            device_blocks: size_bytes / 512,
        }))
    }

    /// Checks that bytes are inside of an object, and may change.
    fn changeable(&mut self, object: ObjectId, offset: u64, length: u64) -> Result<(), Missing> {
        self.inside(object, offset, length)?;
        self.may_change(object, |object| object.takes_changes)
    }

    /// Checks that the transaction may change an object, which has to be one of these.
    fn may_change(&mut self, object: ObjectId, these: impl FnOnce(Named) -> bool) -> Result<(), Missing> {
        if !self.writable {
            return Err(self.internal("a look at the pool cannot change it"));
        }
        match self.object(object) {
            Some(object) if these(object) => Ok(()),
            _ => Err(self.refuse(BlockError::ReadOnly)),
        }
    }

    fn bounded(&mut self) -> Result<(), Missing> {
        match self.changes.are_too_many() {
            true => Err(self.internal("a transaction has too many changes")),
            false => Ok(()),
        }
    }

    /// Content of a block after the changes so far; the last block of an object may reach beyond its end.
    pub fn block(&mut self, object: ObjectId, block: BlockNumber) -> Result<BlockContent, Missing> {
        let size_bytes = self.size_bytes(object)?;
        if block.get() >= size_bytes.div_ceil(B) {
            self.inside(object, block.get().saturating_mul(B), B)?;
        }
        self.content(object, block)
    }

    /// Whether a block has content after the changes so far: what is not mapped reads as zeros.
    pub fn is_mapped(&mut self, object: ObjectId, block: BlockNumber) -> Result<bool, Missing> {
        Ok(!matches!(self.block(object, block)?, BlockContent(Held::Zeros)))
    }

    fn content(&mut self, object: ObjectId, block: BlockNumber) -> Result<BlockContent, Missing> {
        let (object, block) = match self.changes.find(object, block) {
            Found::Content(data) => return Ok(BlockContent(Held::Data(data))),
            Found::Payload(bytes) => return Ok(BlockContent(Held::Payload(bytes))),
            Found::Zeros => return Ok(BlockContent(Held::Zeros)),
            Found::Present(object, block) => (object, block),
        };
        if let Some(seen) = &mut self.seen {
            seen.push((object, block));
        }
        match self.present.content(object, block) {
            Some(Some(data)) => Ok(BlockContent(Held::Data(data))),
            Some(None) => Ok(BlockContent(Held::Zeros)),
            None => Err(Missing(())),
        }
    }

    /// Bytes of a block, to be changed in place. An edit of a whole block begins with zeros and needs
    /// nothing in memory.
    pub fn edit(&mut self, object: ObjectId, block: BlockNumber, bytes: Range<usize>) -> Result<&mut [u8], Missing> {
        if bytes.start > bytes.end || bytes.end > BLOCK_BYTES {
            return Err(self.internal("an edit is not within one block"));
        }
        let at = block.get().saturating_mul(B).saturating_add(bytes.start as u64);
        self.changeable(object, at, bytes.len() as u64)?;
        self.piece(object, block, bytes)
    }

    /// Bytes of a block that may change; the last block of an object may reach beyond its end.
    fn piece(&mut self, object: ObjectId, block: BlockNumber, bytes: Range<usize>) -> Result<&mut [u8], Missing> {
        if bytes.len() == BLOCK_BYTES {
            self.changes.contents.insert((object, block), Content::whole(self.present.copy_of(&ZEROS)));
        } else if !self.changes.contents.contains((object, block)) {
            let content = match self.content(object, block)?.0 {
                // Where a range has changed it may be that of another block.
                Held::Data(data) if !self.changes.range_reaches(object, block, 1) => {
                    Content { data: self.present.copy_of(&data), edits: Edits::none() }
                }
                held => Content::whole(self.present.copy_of(&BlockContent(held))),
            };
            self.changes.contents.insert((object, block), content);
        }
        self.bounded()?;
        match self.changes.contents.get_mut((object, block)) {
            Some(Content { data, edits }) => {
                edits.add(bytes.start, bytes.len());
                Ok(&mut data.make_mut()[bytes])
            }
            None => Err(Missing(())),
        }
    }

    /// Writes bytes at any offset. One payload above 32 KiB in a transaction goes straight to its place,
    /// and becomes visible with the other changes; it must be the same at each attempt.
    pub fn write(&mut self, object: ObjectId, offset: u64, payload: Bytes) -> Result<(), Missing> {
        self.changeable(object, offset, payload.len() as u64)?;
        let end = offset + payload.len() as u64;
        let (first, last) = (offset.div_ceil(B), end / B);
        let large = payload.len() > INLINE_BYTES && first < last;
        if !large || self.changes.inline || self.changes.payload().is_some() {
            return self.write_pieces(object, offset, &payload);
        }
        let (from, to) = ((first * B - offset) as usize, (last * B - offset) as usize);
        let middle = payload.slice(from..to);
        let zeros = middle.chunks_exact(BLOCK_BYTES).any(|block| block.iter().all(|byte| *byte == 0));
        self.changes.place(object, BlockNumber::new(first), middle, zeros);
        let head = self.write_pieces(object, offset, &payload[..from]);
        let tail = self.write_pieces(object, last * B, &payload[to..]);
        head.and(tail)
    }

    fn write_block(
        &mut self,
        object: ObjectId,
        block: BlockNumber,
        content: &[u8; BLOCK_BYTES],
    ) -> Result<(), Missing> {
        self.changes.contents.insert((object, block), Content::whole(self.present.copy_of(content)));
        self.bounded()
    }

    /// Writes bytes block by block. Looks at every block before it reports one that is missing.
    fn write_pieces(&mut self, object: ObjectId, offset: u64, bytes: &[u8]) -> Result<(), Missing> {
        let mut outcome = Ok(());
        let mut at = 0;
        while at < bytes.len() {
            let place = offset + at as u64;
            let from = (place % B) as usize;
            let n = (BLOCK_BYTES - from).min(bytes.len() - at);
            let (block, piece) = (BlockNumber::of_byte(place), &bytes[at..at + n]);
            let written = match piece.try_into() {
                Ok(content) => self.write_block(object, block, content),
                Err(_) => self.piece(object, block, from..from + n).map(|bytes| bytes.copy_from_slice(piece)),
            };
            if let Err(missing) = written {
                outcome = Err(missing);
            }
            if self.refusal.is_some() {
                return outcome;
            }
            at += n;
        }
        outcome
    }

    /// Makes bytes zero; whole blocks of them are deallocated. A range that ends with the object covers
    /// its last block.
    pub fn zero(&mut self, object: ObjectId, range: ByteRange) -> Result<(), Missing> {
        let ByteRange { offset, length } = range;
        self.changeable(object, offset, length)?;
        if length == 0 {
            return Ok(());
        }
        let size_bytes = self.size_bytes(object)?;
        let end = offset + length;
        let end = if end == size_bytes { end.next_multiple_of(B) } else { end };
        let (first, last) = (offset.div_ceil(B), end / B);
        if first > last {
            return self.zero_piece(object, offset, length);
        }
        if first < last {
            self.changes.zero(object, BlockNumber::new(first), last - first);
            self.bounded()?;
        }
        let head = self.zero_piece(object, offset, first * B - offset);
        let tail = self.zero_piece(object, last * B, end - last * B);
        head.and(tail)
    }

    /// Zeroes a part of one block, unless it is zero already because the block is not mapped.
    fn zero_piece(&mut self, object: ObjectId, offset: u64, length: u64) -> Result<(), Missing> {
        let block = BlockNumber::of_byte(offset);
        if length == 0 || matches!(self.content(object, block)?, BlockContent(Held::Zeros)) {
            return Ok(());
        }
        let from = (offset % B) as usize;
        self.piece(object, block, from..from + length as usize)?.fill(0);
        Ok(())
    }

    /// Makes `blocks` blocks of one place share those of another, which may overlap it. The last block of the
    /// source may reach beyond its end. The destination may be a capture, too.
    pub fn clone_blocks(
        &mut self,
        from: (ObjectId, BlockNumber),
        to: (ObjectId, BlockNumber),
        blocks: u64,
    ) -> Result<(), Missing> {
        self.has_blocks(from.0, BlockRange::new(from.1, blocks))?;
        self.inside(to.0, to.1.get().saturating_mul(B), blocks.saturating_mul(B))?;
        self.may_change(to.0, |object| object.takes_changes || object.is_capture)?;
        if blocks > 0 && from != to {
            self.changes.share(from, to, blocks);
        }
        self.bounded()
    }
}
