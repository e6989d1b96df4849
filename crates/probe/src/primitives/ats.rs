//! COMPARE AND WRITE: written when equal, not written when different, and no update lost between two sessions.

use super::{Primitive, Status, Verdict, pattern, timed};
use crate::Subject;
use crate::scratch::Scratch;
use bytes::Bytes;
use data_mover::{Compared, Device, DeviceError, Extent};
use iscsi_initiator::LogicalUnit;
use std::cell::Cell;

/// Updates of each of the two sessions.
const UPDATES: u32 = 500;

pub(crate) async fn prove(subject: &Subject, scratch: &Scratch) -> Result<Verdict, DeviceError> {
    match tries(subject, scratch).await {
        Ok(Ok((reason, latency, wire_bytes))) => Ok(Verdict {
            latency: Some(latency),
            wire_bytes: Some(wire_bytes),
            ..Verdict::new(Primitive::Ats, Status::Supported, reason)
        }),
        Ok(Err(wrong)) => Ok(Verdict::wrong(Primitive::Ats, wrong)),
        Err(error) => Verdict::failed(Primitive::Ats, error),
    }
}

type Found = Result<(String, std::time::Duration, u64), &'static str>;

async fn tries(subject: &Subject, scratch: &Scratch) -> Result<Found, DeviceError> {
    let (unit, lba) = (&subject.unit, scratch.at(0));
    let block_bytes = unit.identity().block_bytes as usize;
    let image = |seed| pattern(seed, block_bytes);
    let block = Extent { lba, blocks: 1 };
    scratch.write(unit, lba, image(0)).await?;
    scratch.note(lba, &image(1));
    if unit.compare_and_write(lba, image(0), image(1)).await? != Compared::Written {
        return Ok(Err("COMPARE AND WRITE of an equal block miscompares"));
    }
    scratch.note(lba, &image(2));
    if unit.compare_and_write(lba, image(0), image(2)).await? != Compared::Miscompare {
        return Ok(Err("COMPARE AND WRITE of a different block ends with GOOD"));
    }
    if unit.read(block).await? != image(1) {
        return Ok(Err("COMPARE AND WRITE ended with GOOD, and the block holds something else"));
    }
    let (latency, wire) = timed(subject, async |round| {
        let (old, new) = (image(u64::from(round) + 1), image(u64::from(round) + 2));
        scratch.note(lba, &new);
        unit.compare_and_write(lba, old, new).await.map(drop)
    })
    .await?;
    // Two sessions count, each from what it read last.
    scratch.write(unit, lba, counter(0, block_bytes)).await?;
    scratch.note_counted(lba, &counter(0, block_bytes));
    let miscompares = Cell::new(0);
    let (one, two) = tokio::join!(count(&subject.unit, lba, &miscompares), count(&subject.other, lba, &miscompares));
    one?;
    two?;
    let last = counter(2 * UPDATES, block_bytes);
    if unit.read(block).await? != last {
        return Ok(Err("of the updates of two sessions some were lost"));
    }
    scratch.settle(lba, &last);
    let most = unit.identity().limits.compare_and_write;
    let reason = format!(
        "COMPARE AND WRITE, {} announced; {} updates of two sessions, {} miscompares, none lost",
        if most == 1 { "1 block".to_owned() } else { format!("{most} blocks") },
        2 * UPDATES,
        miscompares.get()
    );
    Ok(Ok((reason, latency, wire)))
}

fn counter(value: u32, block_bytes: usize) -> Bytes {
    let mut image = pattern(99, block_bytes).to_vec();
    for (to, from) in image.iter_mut().zip(value.to_be_bytes()) {
        *to = from;
    }
    image.into()
}

async fn count(unit: &LogicalUnit, lba: u64, miscompares: &Cell<u64>) -> Result<(), DeviceError> {
    let block_bytes = unit.identity().block_bytes as usize;
    let mut done = 0;
    while done < UPDATES {
        let old = unit.read(Extent { lba, blocks: 1 }).await?;
        let value = old.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        match unit.compare_and_write(lba, old, counter(value + 1, block_bytes)).await? {
            Compared::Written => done += 1,
            Compared::Miscompare => miscompares.set(miscompares.get() + 1),
        }
    }
    Ok(())
}
