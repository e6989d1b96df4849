//! READ_PLUS, RFC 7862 §15.10.

use super::context::Context;
use super::read::content;
use super::row::{HANDLE, Row, STATEID};
use crate::failure::Failure;
use bytes::{Bytes, BytesMut};
use nfs::v4::Status;
use nfs::v4::io::{ReadArguments, ReadPlusOk, Segment, SegmentData, SegmentHole};
use unit::OffloadWork;
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 68, statuses: &[HANDLE, STATEID, &[Status::ISDIR, Status::SYMLINK]], reply_bytes: RESULTS_BYTES };

/// Length of the results without segments: number, status, eof, and count.
const RESULTS_BYTES: usize = 16;
/// Length of a segment of data, without the data.
const DATA_BYTES: usize = 16;
/// Length of a segment that is a hole.
const HOLE_BYTES: usize = 20;

/// Reads data and holes. The segments are contiguous, begin with the offset, and lie within the range.
///
/// If the range has more segments than the reply has room for, it is read up to there.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadArguments,
) -> Result<ReadPlusOk, Failure> {
    let content = content(context, arguments, RESULTS_BYTES + DATA_BYTES).await?;
    let mut room = context.room_bytes.saturating_sub(RESULTS_BYTES);
    let mut offset_bytes = arguments.offset_bytes;
    let mut segments = Vec::new();
    let mut eof = content.end_of_file;
    for run in runs(content.segments) {
        let (bytes, segment, length_bytes) = match run {
            Run::Data(pieces) => {
                let data = joined(&pieces, room.saturating_sub(DATA_BYTES) & !3, &mut eof);
                let length_bytes = data.len() as u64;
                let bytes = DATA_BYTES + data.len().next_multiple_of(4);
                (bytes, Segment::Data(SegmentData { offset_bytes, data: data.into() }), length_bytes)
            }
            Run::Hole(length_bytes) => {
                (HOLE_BYTES, Segment::Hole(SegmentHole { offset_bytes, length_bytes }), length_bytes)
            }
        };
        let Some(left) = room.checked_sub(bytes).filter(|_| length_bytes > 0) else {
            eof = false;
            break;
        };
        room = left;
        segments.push(segment);
        offset_bytes = offset_bytes.saturating_add(length_bytes);
    }
    if segments.is_empty() && !eof && arguments.count_bytes > 0 {
        return Err(Status::REP_TOO_BIG.into());
    }
    context.worked(work(&segments));
    Ok(ReadPlusOk { eof, segments: segments.into() })
}

/// Work of a read: holes are not sent.
fn work(segments: &[Segment]) -> OffloadWork {
    let mut work = OffloadWork::default();
    for segment in segments {
        match segment {
            Segment::Data(data) => work.bytes += data.data.as_bytes().len() as u64,
            Segment::Hole(hole) => {
                work.bytes += hole.length_bytes;
                work.host_bytes_avoided += hole.length_bytes;
            }
        }
    }
    work
}

/// Neighbours of one kind: file systems return a segment a block.
enum Run {
    Data(Vec<Bytes>),
    Hole(u64),
}

fn runs(segments: impl IntoIterator<Item = vfs::Segment>) -> Vec<Run> {
    let mut runs = Vec::new();
    for segment in segments {
        match (segment, runs.last_mut()) {
            (vfs::Segment::Data(data), Some(Run::Data(pieces))) => pieces.push(data),
            (vfs::Segment::Data(data), _) => runs.push(Run::Data(vec![data])),
            (vfs::Segment::Hole { length_bytes }, Some(Run::Hole(length))) => *length += length_bytes,
            (vfs::Segment::Hole { length_bytes }, _) => runs.push(Run::Hole(length_bytes)),
        }
    }
    runs
}

/// Pieces as one, at most so many bytes; what is cut off is not the end of the file.
fn joined(pieces: &[Bytes], most: usize, eof: &mut bool) -> Bytes {
    let length = pieces.iter().map(Bytes::len).sum::<usize>();
    *eof &= length <= most;
    if let [piece] = pieces {
        return piece.slice(..length.min(most));
    }
    let mut bytes = BytesMut::with_capacity(length.min(most));
    for piece in pieces {
        let room = most.saturating_sub(bytes.len());
        bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
    }
    bytes.freeze()
}
