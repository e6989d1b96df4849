//! ALLOCATE, RFC 7862 §15.1: the file grows, reads as zeros where it was not written, keeps its data, and
//! takes the space.

use super::fault::{Fault, wrong};
use super::primitive::Proof;
use super::scratch::{KIB, Scratch, data, replace};
use crate::verdict::timed;

const BYTES: u64 = 1024 * KIB;
/// Data that is there before.
const DATA: u64 = 64 * KIB;

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let share = &scratch.share;
    let (file, content) = scratch.filled("reserve", 8, DATA).await?;
    let before = scratch.used(&file).await?;
    share.allocate(&file, 0, BYTES).await?;
    let reserved = scratch.used(&file).await?;
    let mut expected = content.to_vec();
    expected.resize(usize::try_from(BYTES).unwrap_or(0), 0);
    scratch.check(&file, &expected, "a file with reserved space").await?;
    let detail = match (before, reserved) {
        (Some(before), Some(reserved)) if reserved < BYTES => {
            return wrong(format!(
                "ALLOCATE of {BYTES} bytes succeeded, but the file takes {reserved}, and {before} before (space_used)"
            ));
        }
        (_, Some(reserved)) => {
            // Reserved space is there to be written: it does not come on top.
            scratch.write(&file, BYTES / 2, data(9, BYTES / 4)).await?;
            replace(&mut expected, BYTES / 2, &data(9, BYTES / 4));
            scratch.check(&file, &expected, "reserved space that was written").await?;
            match scratch.used(&file).await? {
                Some(written) if written > reserved + BYTES / 8 => {
                    return wrong(format!(
                        "a write of {} bytes into reserved space took {} more (space_used)",
                        BYTES / 4,
                        written - reserved
                    ));
                }
                _ => format!("the file takes {} (space_used), also once written", text::size::format(reserved)),
            }
        }
        (_, None) => "the server does not say what files take (space_used)".to_owned(),
    };
    let other = scratch.file("reserve").await?;
    let cost = timed(|| scratch.wire_bytes(), async |_| share.allocate(&other, 0, BYTES).await).await?;
    Ok(Proof { reason: format!("ALLOCATE of {}; {detail}", text::size::format(BYTES)), cost: Some(cost) })
}
