//! COMPARE AND WRITE: writes when equal, does not write when different, and loses no update between
//! two sessions.

use super::{Primitive, Status, Verdict};
use crate::scratch::Scratch;
use crate::subject::{Probed, Subject};
use crate::verdict::{pattern, timed};
use bytes::Bytes;
use data_mover::{Compared, Device, DeviceError, Extent};
use std::cell::Cell;
use std::time::Duration;

/// Number of updates of each of the two sessions.
const UPDATES: u32 = 500;
/// Limit of consecutive miscompares of a session: twice the number of the other session's updates,
/// which alone can interfere.
const MOST_MISCOMPARES: u32 = 2 * UPDATES;

/// Reason why the primitive is not proved.
#[derive(Debug)]
enum Fault {
    /// A command failed.
    Device(DeviceError),
    /// The unit's behaviour was wrong.
    Wrong(&'static str),
}

impl From<DeviceError> for Fault {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

pub(crate) async fn prove<D: Probed>(subject: &Subject<D>, scratch: &Scratch) -> Result<Verdict, DeviceError> {
    match tries(&subject.unit, &subject.other, scratch, || subject.unit.wire_bytes()).await {
        Ok((reason, latency, wire_bytes)) => Ok(Verdict {
            latency: Some(latency),
            wire_bytes: Some(wire_bytes),
            ..Verdict::new(Primitive::Ats, Status::Supported, reason)
        }),
        Err(Fault::Wrong(wrong)) => Ok(Verdict::wrong(Primitive::Ats, wrong)),
        Err(Fault::Device(error)) => Verdict::failed(Primitive::Ats, error),
    }
}

/// Returns the reason for the verdict, the time of one command, and its bytes on the wire, which
/// `wire` counts.
async fn tries<D: Device>(
    unit: &D,
    other: &D,
    scratch: &Scratch,
    wire: impl Fn() -> u64,
) -> Result<(String, Duration, u64), Fault> {
    let lba = scratch.at(0);
    let block_bytes = unit.identity().block_bytes as usize;
    let image = |seed| pattern(seed, block_bytes);
    let block = Extent { lba, blocks: 1 };
    scratch.write(unit, lba, image(0)).await?;
    scratch.note(lba, &image(1));
    if unit.compare_and_write(lba, image(0), image(1)).await? != Compared::Written {
        return Err(Fault::Wrong("COMPARE AND WRITE of an equal block miscompares"));
    }
    scratch.note(lba, &image(2));
    if unit.compare_and_write(lba, image(0), image(2)).await? != Compared::Miscompare {
        return Err(Fault::Wrong("COMPARE AND WRITE of a different block ends with GOOD"));
    }
    if unit.read(block).await? != image(1) {
        return Err(Fault::Wrong("COMPARE AND WRITE ended with GOOD, but the block holds other data"));
    }
    let (latency, wire) = timed(wire, async |round| {
        let (old, new) = (image(u64::from(round) + 1), image(u64::from(round) + 2));
        scratch.note(lba, &new);
        match unit.compare_and_write(lba, old, new).await? {
            Compared::Written => Ok(()),
            Compared::Miscompare => Err(Fault::Wrong("COMPARE AND WRITE of data that was just written miscompares")),
        }
    })
    .await?;
    // Two sessions increment a counter, each from the value it read last.
    scratch.write(unit, lba, counter(0, block_bytes)).await?;
    scratch.note_counted(lba, &counter(0, block_bytes));
    let miscompares = Cell::new(0);
    let (one, two) = tokio::join!(count(unit, lba, &miscompares), count(other, lba, &miscompares));
    one?;
    two?;
    let last = counter(2 * UPDATES, block_bytes);
    if unit.read(block).await? != last {
        return Err(Fault::Wrong("some updates of two sessions were lost"));
    }
    scratch.settle(lba, &last);
    let most = unit.identity().limits.compare_and_write;
    let reason = format!(
        "COMPARE AND WRITE, {} announced; {} updates of two sessions, {} miscompares, none lost",
        if most == 1 { "1 block".to_owned() } else { format!("{most} blocks") },
        2 * UPDATES,
        miscompares.get()
    );
    Ok((reason, latency, wire))
}

fn counter(value: u32, block_bytes: usize) -> Bytes {
    let mut image = pattern(99, block_bytes).to_vec();
    for (to, from) in image.iter_mut().zip(value.to_be_bytes()) {
        *to = from;
    }
    image.into()
}

async fn count(unit: &impl Device, lba: u64, miscompares: &Cell<u64>) -> Result<(), Fault> {
    let block_bytes = unit.identity().block_bytes as usize;
    let (mut done, mut in_a_row) = (0, 0);
    while done < UPDATES {
        let old = unit.read(Extent { lba, blocks: 1 }).await?;
        let value = old.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        match unit.compare_and_write(lba, old, counter(value.wrapping_add(1), block_bytes)).await? {
            Compared::Written => (done, in_a_row) = (done + 1, 0),
            Compared::Miscompare if in_a_row == MOST_MISCOMPARES => {
                return Err(Fault::Wrong("COMPARE AND WRITE of data that was just read miscompares"));
            }
            Compared::Miscompare => {
                in_a_row += 1;
                miscompares.set(miscompares.get() + 1);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
