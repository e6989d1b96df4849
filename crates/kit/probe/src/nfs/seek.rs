//! SEEK, RFC 7862 §15.11: what is said to be a hole has no data, no data is passed over, and a hole that
//! was never written is found.

use super::fault::{Fault, wrong};
use super::primitive::Proof;
use super::scratch::{KIB, SPARSE_BYTES, SPARSE_DATA, Scratch, is_zero};
use crate::verdict::timed;
use nfs::v4::Status;
use nfs::v4::io::Content;
use nfs_client::{ClientError, File};

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let (file, content) = scratch.sparse("seek").await?;
    let [first, second] = SPARSE_DATA;
    for at in [0, 1, first.end - 1, first.end, 100 * KIB, second.start, second.end - 1, second.end, SPARSE_BYTES - 1] {
        let data = found(scratch, &file, at, Content::DATA).await?;
        let hole = found(scratch, &file, at, Content::HOLE).await?;
        let part = |to: u64| {
            content.get(usize::try_from(at).unwrap_or(0)..usize::try_from(to).unwrap_or(0)).unwrap_or_default()
        };
        if data < at || data > SPARSE_BYTES || hole < at || hole > SPARSE_BYTES {
            return wrong(format!("SEEK from byte {at}: data at {data}, a hole at {hole}, outside of the file"));
        }
        if !is_zero(part(data)) {
            return wrong(format!("SEEK for data from byte {at} finds {data}, and passes over data"));
        }
        if data != at && hole != at {
            return wrong(format!("SEEK finds neither data nor a hole at byte {at}"));
        }
    }
    // From data on, the first hole must begin before the data behind it.
    let hole = found(scratch, &file, 0, Content::HOLE).await?;
    if hole < first.end {
        return wrong(format!("SEEK finds a hole at byte {hole}, which was written"));
    }
    if hole >= second.start {
        return wrong("SEEK finds no holes: bytes that were never written are data");
    }
    let next = found(scratch, &file, hole, Content::DATA).await?;
    let end = scratch.share.seek(&file, SPARSE_BYTES, Content::DATA).await;
    if !matches!(&end, Err(error) if error.status() == Some(Status::NXIO)) {
        return wrong(format!("SEEK at the end of the file: expected NXIO, found {end:?}"));
    }
    let cost =
        timed(|| scratch.wire_bytes(), async |_| scratch.share.seek(&file, 0, Content::HOLE).await.map(drop)).await?;
    let reason = format!(
        "SEEK; a hole of {} found where {} were never written",
        text::size::format(next - hole),
        text::size::format(second.start - first.end)
    );
    Ok(Proof { reason, cost: Some(cost) })
}

/// Where data or a hole begins from `at` on; the end of the file if there is none.
async fn found(scratch: &Scratch, file: &File, at: u64, what: Content) -> Result<u64, ClientError> {
    match scratch.share.seek(file, at, what).await {
        // The end of the file is a hole without length.
        Ok(found) if found.eof && what == Content::DATA => Ok(SPARSE_BYTES),
        Ok(found) => Ok(found.offset_bytes),
        Err(ClientError::Status { status: Status::NXIO, .. }) => Ok(SPARSE_BYTES),
        Err(error) => Err(error),
    }
}
