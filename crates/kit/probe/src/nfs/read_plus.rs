//! READ_PLUS, RFC 7862 §15.10: the content is that of READ, and holes are not sent.

use super::fault::{Fault, wrong};
use super::primitive::Proof;
use super::scratch::{SPARSE_BYTES, SPARSE_DATA, Scratch, replace};
use crate::verdict::timed;
use nfs::v4::io::Segment;
use nfs_client::{CALL_BYTES, File};

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let (file, expected) = scratch.sparse("read-plus").await?;
    let (content, hole_bytes) = read(scratch, &file).await?;
    if content != expected {
        let at = content.iter().zip(&expected).position(|(found, expected)| found != expected);
        return wrong(match at {
            Some(at) => format!("READ_PLUS returns wrong data from byte {at} on"),
            None => format!("READ_PLUS returns {} bytes of {}", content.len(), expected.len()),
        });
    }
    let never_written = SPARSE_BYTES - SPARSE_DATA.iter().map(|range| range.end - range.start).sum::<u64>();
    if hole_bytes < never_written / 2 {
        return wrong(format!(
            "READ_PLUS sends holes as data: {hole_bytes} bytes of {never_written} that were never written are holes"
        ));
    }
    let again = async |_| scratch.share.read_plus(&file, 0, CALL_BYTES).await.map(drop);
    let cost = timed(|| scratch.wire_bytes(), again).await?;
    let reason = format!(
        "READ_PLUS of {}; {} of holes not sent",
        text::size::format(SPARSE_BYTES),
        text::size::format(hole_bytes)
    );
    Ok(Proof { reason, cost: Some(cost) })
}

/// Content of the file, and the bytes of it that were holes.
async fn read(scratch: &Scratch, file: &File) -> Result<(Vec<u8>, u64), Fault> {
    let mut content = vec![0; usize::try_from(SPARSE_BYTES).unwrap_or(0)];
    let (mut at, mut holes) = (0, 0);
    loop {
        let part = scratch.share.read_plus(file, at, CALL_BYTES).await?;
        let before = at;
        for segment in &part.segments.0 {
            let (start, length) = match segment {
                Segment::Data(segment) => (segment.offset_bytes, segment.data.len() as u64),
                Segment::Hole(hole) => (hole.offset_bytes, hole.length_bytes),
            };
            if start != at {
                return wrong(format!("a segment of READ_PLUS begins at byte {start}, expected {at}"));
            }
            // A hole may reach beyond the range that was asked for, but not beyond the file.
            at = match start.checked_add(length) {
                Some(end) if end <= SPARSE_BYTES => end,
                _ => return wrong(format!("a segment of READ_PLUS at byte {start} has {length} bytes")),
            };
            match segment {
                Segment::Data(segment) => replace(&mut content, start, segment.data.as_bytes()),
                Segment::Hole(_) => holes += length,
            }
        }
        if part.eof {
            content.truncate(usize::try_from(at).unwrap_or(0));
            return Ok((content, holes));
        }
        if at == before {
            return wrong("READ_PLUS returns nothing, and not the end");
        }
    }
}
