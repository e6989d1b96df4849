//! Content of regular files: what is written, what a read returns, holes, copies.

use crate::{Attributes, Changed, FileId, FsError};
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

/// Data of a write, in pieces as they were received. The pieces are written one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    pieces: SmallVec<[Bytes; 2]>,
    length_bytes: u64,
}

impl Payload {
    /// Length of all pieces.
    pub const fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Pieces, none of them empty.
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }
}

impl FromIterator<Bytes> for Payload {
    fn from_iter<I: IntoIterator<Item = Bytes>>(pieces: I) -> Self {
        let pieces: SmallVec<[Bytes; 2]> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let length_bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { pieces, length_bytes }
    }
}

impl From<Bytes> for Payload {
    fn from(data: Bytes) -> Self {
        std::iter::once(data).collect()
    }
}

/// When a write may be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Before it is durable. If [`crate::FileSystem::write_verifier`] changes before the next commit,
    /// the write may be lost.
    Unstable,
    /// When data and attributes are durable.
    Durable,
}

/// Value that is another after each start of the file system: unstable writes of earlier starts may
/// be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteVerifier(pub u64);

/// Piece of a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Data, never empty: a view of the file system's own buffer.
    Data(Bytes),
    /// Zeros without storage, never 0 of them.
    Hole {
        /// Number of zeros.
        length_bytes: u64,
    },
}

impl Segment {
    /// Length in bytes.
    pub fn length_bytes(&self) -> u64 {
        match self {
            Self::Data(data) => data.len() as u64,
            Self::Hole { length_bytes } => *length_bytes,
        }
    }
}

/// Result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Content in order, without gaps: together as long as the read, or up to the end of the file. No
    /// hole follows a hole.
    pub segments: SmallVec<[Segment; 4]>,
    /// True when the content ends at or behind the end of the file.
    pub end_of_file: bool,
    /// Attributes at the instant of the read.
    pub attributes: Attributes,
}

impl Content {
    /// Length of all segments.
    pub fn length_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::length_bytes).sum()
    }

    /// The content as one buffer, holes as zeros. Without a copy when it is one segment of data.
    pub fn into_bytes(mut self) -> Bytes {
        if let [Segment::Data(data)] = &mut self.segments[..] {
            return std::mem::take(data);
        }
        let mut all = BytesMut::with_capacity(usize::try_from(self.length_bytes()).unwrap_or(0));
        for segment in &self.segments {
            match segment {
                Segment::Data(data) => all.extend_from_slice(data),
                Segment::Hole { length_bytes } => {
                    let zeros = usize::try_from(*length_bytes).unwrap_or(usize::MAX);
                    all.resize(all.len().saturating_add(zeros), 0);
                }
            }
        }
        all.freeze()
    }
}

/// Target of a seek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// Mapped bytes.
    Data,
    /// Bytes that are not mapped; every file ends with a hole of length 0.
    Hole,
}

/// Result of a seek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sought {
    /// First offset at or behind the start that has what was sought; the size if none has.
    pub offset_bytes: u64,
    /// True when that offset is the end of the file: no data follows, or the hole is the one at the end.
    pub end_of_file: bool,
    /// Attributes at the instant of the seek.
    pub attributes: Attributes,
}

/// Place in a file, for clones and copies.
#[derive(Debug)]
pub struct Source<'a, F> {
    /// File system of the source. It may be another one than the destination's, of the same engine.
    pub file_system: &'a F,
    /// File.
    pub file: FileId,
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes; `None`: up to the end of the file.
    pub length_bytes: Option<u64>,
}

impl<F> Source<'_, F> {
    /// Bytes of the range in a file of this size. [`FsError::BeyondEnd`]: it does not lie inside.
    pub fn length_in(&self, size_bytes: u64) -> Result<u64, FsError> {
        let beyond = FsError::BeyondEnd { size_bytes };
        let rest = size_bytes.checked_sub(self.offset_bytes).ok_or(beyond.clone())?;
        match self.length_bytes {
            Some(length) if length > rest => Err(beyond),
            Some(length) => Ok(length),
            None => Ok(rest),
        }
    }
}

/// Result of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Bytes copied, from the start of the range.
    pub done_bytes: u64,
    /// Those of them that now share storage with the source.
    pub shared_bytes: u64,
    /// Destination.
    pub destination: Changed,
}

/// Space of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Bytes that the file has mapped, shared with others or not.
    pub mapped_bytes: u64,
    /// Bytes that allocations of the file still promise: allocated ones that are not mapped, or shared.
    pub promised_bytes: u64,
    /// Bytes by which the space that is neither used nor promised would grow if the file was deleted
    /// now.
    pub freed_bytes: u64,
}

/// Space and files of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes that the file system could use if it was empty: its quota, or the pool.
    pub total_bytes: u64,
    /// Bytes that are neither used nor promised.
    pub free_bytes: u64,
    /// Bytes of them that callers can use.
    pub available_bytes: u64,
    /// Bytes that count against its quota: those that are used or promised.
    pub used_bytes: u64,
    /// Files that it can have.
    pub files: u64,
    /// Files that it can still have.
    pub free_files: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_no_empty_pieces() {
        let payload: Payload = [&b"ab"[..], b"", b"c"].into_iter().map(Bytes::from_static).collect();
        assert_eq!((payload.length_bytes(), payload.pieces().len()), (3, 2));
        assert_eq!(Payload::from(Bytes::new()), Payload::default());
    }

    #[test]
    fn a_range_without_length_ends_with_the_file() {
        let source =
            |offset_bytes, length_bytes| Source { file_system: &(), file: FileId(1), offset_bytes, length_bytes };
        assert_eq!(source(3, None).length_in(10), Ok(7));
        assert_eq!(source(10, None).length_in(10), Ok(0));
        assert_eq!(source(3, Some(7)).length_in(10), Ok(7));
        for (offset, length) in [(3, Some(8)), (11, None), (11, Some(0)), (u64::MAX, Some(u64::MAX))] {
            assert_eq!(source(offset, length).length_in(10), Err(FsError::BeyondEnd { size_bytes: 10 }));
        }
    }
}
