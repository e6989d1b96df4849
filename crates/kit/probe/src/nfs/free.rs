//! DEALLOCATE, RFC 7862 §15.4: the range reads as zeros, all else stays, and the space is given back.

use super::fault::{Fault, wrong};
use super::primitive::Proof;
use super::scratch::{KIB, Scratch};
use crate::verdict::timed;

const BYTES: u64 = 1024 * KIB;
const FROM: u64 = 256 * KIB;
const COUNT: u64 = 512 * KIB;

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let share = &scratch.share;
    let (file, content) = scratch.filled("free", 10, BYTES).await?;
    let before = scratch.used(&file).await?;
    share.deallocate(&file, FROM, COUNT).await?;
    let after = scratch.used(&file).await?;
    let mut expected = content.to_vec();
    let range = usize::try_from(FROM).unwrap_or(0)..usize::try_from(FROM + COUNT).unwrap_or(0);
    expected.get_mut(range).unwrap_or_default().fill(0);
    scratch.check(&file, &expected, "a file of which a part was freed").await?;
    let detail = match before.zip(after) {
        // A file system with large blocks may keep those at both ends.
        Some((before, after)) if after.saturating_add(COUNT / 2) > before => {
            return wrong(format!(
                "DEALLOCATE of {COUNT} bytes gives zeros, but the file takes {after} bytes, and {before} before (space_used)"
            ));
        }
        Some((before, after)) => format!("{} given back (space_used)", text::size::format(before - after)),
        None => "the server does not say what files take (space_used)".to_owned(),
    };
    // A range that is a byte off at both ends of a block.
    share.deallocate(&file, 1, KIB).await?;
    expected.get_mut(1..1025).unwrap_or_default().fill(0);
    scratch.check(&file, &expected, "a file of which 1 KiB in a block was freed").await?;
    let cost = timed(|| scratch.wire_bytes(), async |_| share.deallocate(&file, FROM, COUNT).await).await?;
    Ok(Proof { reason: format!("DEALLOCATE of {}; {detail}", text::size::format(COUNT)), cost: Some(cost) })
}
