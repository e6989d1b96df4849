//! CLONE, RFC 7862 §15.13: a whole file and a range, which later writes to either file do not reach.

use super::fault::{Fault, untried, wrong};
use super::primitive::Proof;
use super::scratch::{KIB, Scratch, data, replace};
use crate::verdict::timed;

/// Largest alignment that is tried.
const MAX_UNIT: u64 = 1024 * KIB;
/// Blocks of the cloned file.
const UNITS: u64 = 64;

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let share = &scratch.share;
    let unit = scratch.clone_unit().await?;
    if unit > MAX_UNIT {
        return untried(format!("the alignment of CLONE is {}", text::size::format(unit)));
    }
    let bytes = (UNITS * unit).min(4 * MAX_UNIT);
    let (source, original) = scratch.filled("clone-source", 1, bytes).await?;
    let clone = scratch.file("clone").await?;
    share.clone_range((&source, 0), (&clone, 0), 0).await?;
    scratch.check(&clone, &original, "a clone").await?;
    let [_, freed] = scratch.used_and_freed(&clone).await?;
    let mut of_source = original.to_vec();
    replace(&mut of_source, 0, &data(2, unit));
    scratch.write(&source, 0, data(2, unit)).await?;
    scratch.check(&clone, &original, "a clone whose source was written to").await?;
    let mut of_clone = original.to_vec();
    replace(&mut of_clone, unit, &data(3, unit));
    scratch.write(&clone, unit, data(3, unit)).await?;
    scratch.check(&clone, &of_clone, "a clone that was written to").await?;
    scratch.check(&source, &of_source, "the source of a clone that was written to").await?;
    let (part, before) = scratch.filled("clone-range", 4, 4 * unit).await?;
    let mut of_part = before.to_vec();
    let second = usize::try_from(unit).unwrap_or(0);
    replace(&mut of_part, 2 * unit, of_source.get(..second).unwrap_or_default());
    share.clone_range((&source, 0), (&part, 2 * unit), unit).await?;
    scratch.check(&part, &of_part, "a file into which a range was cloned").await?;
    let clone_again = async |_| share.clone_range((&source, 0), (&clone, 0), 0).await;
    let cost = timed(|| scratch.wire_bytes(), clone_again).await?;
    scratch.check(&clone, &of_source, "a clone over an older one").await?;
    if cost.1 >= bytes {
        return wrong(format!("{} bytes on the wire for a clone of {bytes}", cost.1));
    }
    let shared = match freed {
        Some(0) => "all of it shared (space_freed is 0)".to_owned(),
        Some(freed) if freed < bytes => format!("{} not shared (space_freed)", text::size::format(freed)),
        Some(_) => "nothing of it shared (space_freed)".to_owned(),
        None => "the server does not say what is shared (space_freed)".to_owned(),
    };
    let reason = format!("CLONE of {}, alignment {}; {shared}", text::size::format(bytes), text::size::format(unit));
    Ok(Proof { reason, cost: Some(cost) })
}
