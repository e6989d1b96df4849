//! Zeroing and unmapping of a disk or a whole logical unit.

use super::{Done, closing};
use crate::error::DiskError;
use crate::holds_data::check_destroy;
use crate::kit::Kit;
use crate::location::Location;
use crate::progress::Meter;
use data_mover::{Device, Extent};
use serde_json::json;

/// Largest number of blocks of a logical unit per UNMAP call, so that it can be interrupted.
const UNMAP_BLOCKS: u64 = 1 << 21;

fn zeroed_in_part(at: &Location) -> String {
    format!("a part of {at} reads as zeros, the rest is unchanged")
}

/// Makes a disk, or a whole logical unit, read as zeros. If a unit holds data, `destroy` must name
/// it.
pub async fn zero(kit: &Kit, at: &Location, destroy: Option<&str>, meter: &Meter) -> Result<Done, DiskError> {
    let bytes = match &at.disk {
        Some(name) => {
            let store = kit.datastore(&at.url).await?;
            let failed = |error| DiskError::datastore(at, error);
            let disk = store.open(name).await.map_err(failed)?;
            let size = disk.size();
            meter.total(size);
            let zeroed = closing(disk, async |disk| disk.zero(&|bytes| meter.advance(bytes)).await).await;
            zeroed.map_err(|error| failed(error).when_interrupted(|| zeroed_in_part(at)))?;
            size
        }
        None => {
            let unit = kit.unit(&at.url).await?;
            check_destroy(kit, &at.url, &unit, destroy).await?;
            let (blocks, each) = (unit.identity().blocks, u64::from(unit.identity().block_bytes));
            meter.total(blocks.saturating_mul(each));
            let whole = Extent { lba: 0, blocks };
            let zeroed = kit.mover().zero(&*unit, whole, true, &|bytes| meter.advance(bytes)).await;
            zeroed.map_err(|error| DiskError::device(at, error).when_interrupted(|| zeroed_in_part(at)))?;
            blocks.saturating_mul(each)
        }
    };
    Ok(Done::new(
        format!("{at} reads as zeros, {}", text::size::format(bytes)),
        json!({ "disk": at.to_string(), "bytes": bytes }),
    ))
}

/// Unmaps a range of a disk, or of a whole logical unit, on the array (UNMAP); afterwards it reads
/// as zeros if LBPRZ says so. `range` is an offset and a length in bytes; `None` means all of it.
///
/// Errors: [`DiskError::Usage`] when a whole unit has no UNMAP.
pub async fn unmap(
    kit: &Kit,
    at: &Location,
    range: Option<(u64, u64)>,
    destroy: Option<&str>,
    meter: &Meter,
) -> Result<Done, DiskError> {
    let unmapped = match &at.disk {
        Some(name) => {
            let store = kit.datastore(&at.url).await?;
            let failed = |error| DiskError::datastore(at, error);
            let disk = store.open(name).await.map_err(failed)?;
            let (offset, bytes) = range.unwrap_or((0, disk.size()));
            meter.total(bytes);
            let freed = closing(disk, async |disk| disk.discard(offset, bytes, &|bytes| meter.advance(bytes)).await);
            freed.await.map_err(|error| failed(error).when_interrupted(|| zeroed_in_part(at)))?
        }
        None => {
            let unit = kit.unit(&at.url).await?;
            check_destroy(kit, &at.url, &unit, destroy).await?;
            let (all, each) = (unit.identity().blocks, u64::from(unit.identity().block_bytes));
            let (offset, bytes) = range.unwrap_or((0, all.saturating_mul(each)));
            if !(offset | bytes).is_multiple_of(each) || offset.saturating_add(bytes) > all.saturating_mul(each) {
                let words = format!("{bytes} bytes at {offset} are not whole blocks of {each} within {at}");
                return Err(DiskError::Usage(words));
            }
            meter.total(bytes);
            let (mut unmapped, mut lba, end) = (0, offset / each, (offset + bytes) / each);
            while lba < end {
                let blocks = UNMAP_BLOCKS.min(end - lba);
                let taken = kit.mover().unmap(&*unit, &[Extent { lba, blocks }]).await;
                unmapped += taken.map_err(|error| DiskError::device(at, error))?;
                lba += blocks;
                meter.advance(blocks * each);
                if kit.mover().is_interrupted() {
                    let words = format!("{} of {at} are unmapped, the rest is unchanged", text::size::format(unmapped));
                    return Err(DiskError::Interrupted(words));
                }
            }
            if unmapped == 0 && bytes > 0 {
                return Err(DiskError::Usage(format!(
                    "{at} does not support UNMAP; windlass disk zero makes it read as zeros"
                )));
            }
            unmapped
        }
    };
    Ok(Done::new(
        format!("unmapped {} of {at}", text::size::format(unmapped)),
        json!({ "disk": at.to_string(), "unmapped_bytes": unmapped }),
    ))
}
