//! Detection of data on a logical unit before all of it is overwritten. If the unit reports its
//! mapped blocks (GET LBA STATUS), only those are read; else all. More than can be read counts as
//! data.

use crate::error::DiskError;
use crate::kit::Kit;
use data_mover::{DataMover, Device, DeviceError, Extent};
use initiator::LogicalUnit;

/// Limit of mapped bytes that are read to find data.
const READ_BYTES: u64 = 16 << 20;
/// Limit of bytes read on a unit that does not report its mapped blocks.
const WHOLE_BYTES: u64 = 1 << 30;
/// Bytes of one READ.
const STEP_BYTES: u64 = 1 << 20;

/// Name to pass to `--destroy-data`: the NAA identifier, or the URL of a unit that has none.
pub fn unit_name(url: &initiator::url::Url, unit: &LogicalUnit) -> String {
    unit.identity().naa_digits().map_or_else(|| url.to_string(), |digits| format!("naa.{digits}"))
}

/// Names that `--destroy-data` accepts: also without `naa.`, as the array's administrators see it,
/// and TARGET/LUN.
fn names(name: &str, url: &initiator::url::Url) -> impl Iterator<Item = String> {
    let digits = name.strip_prefix("naa.").map(str::to_owned);
    [name.to_owned(), format!("{}/{}", url.target, url.lun)].into_iter().chain(digits)
}

/// Refuses a unit that holds data unless it was named, and a unit with a datastore that a host has
/// mounted.
pub(crate) async fn check_destroy(
    kit: &Kit,
    url: &initiator::url::Url,
    unit: &LogicalUnit,
    destroy: Option<&str>,
) -> Result<(), DiskError> {
    let name = unit_name(url, unit);
    match destroy {
        Some(given) if names(&name, url).any(|name| name.eq_ignore_ascii_case(given)) => {
            kit.check_not_mounted(url).await
        }
        Some(given) => Err(DiskError::OtherName { given: given.into(), name }),
        None => match holds_data_from(kit.mover(), unit, 0).await.map_err(|error| DiskError::device(url, error))? {
            None => Ok(()),
            Some(found) => Err(DiskError::HoldsData { on: url.to_string(), found, name }),
        },
    }
}

/// Describes the data found in the blocks from `lba` on; `None` when there is none.
pub(crate) async fn holds_data_from(
    mover: &DataMover,
    unit: &LogicalUnit,
    lba: u64,
) -> Result<Option<String>, DeviceError> {
    let block_bytes = u64::from(unit.identity().block_bytes.max(1));
    let blocks = unit.identity().blocks;
    let (extents, left) = match unit.mapped(lba..blocks, READ_BYTES / block_bytes).await? {
        Some((extents, all)) => (extents, (!all).then(|| "more than 16 MiB are mapped".to_owned())),
        // Data may lie anywhere.
        None => {
            let read = (WHOLE_BYTES / block_bytes).min(blocks.saturating_sub(lba));
            let left = (lba + read < blocks).then(|| {
                "it does not report its mapped blocks (GET LBA STATUS) and is too large to be read completely"
                    .to_owned()
            });
            (vec![Extent { lba, blocks: read }], left)
        }
    };
    Ok(data_in(mover, unit, &extents).await?.or(left))
}

/// Describes the first of these blocks that hold data other than zeros.
async fn data_in(mover: &DataMover, unit: &LogicalUnit, extents: &[Extent]) -> Result<Option<String>, DeviceError> {
    let step = (STEP_BYTES / u64::from(unit.identity().block_bytes.max(1))).max(1);
    for extent in extents {
        let mut at = extent.lba;
        while at < extent.lba + extent.blocks {
            if mover.is_interrupted() {
                return Err(DeviceError::Interrupted);
            }
            let blocks = step.min(extent.lba + extent.blocks - at);
            if unit.read(Extent { lba: at, blocks }).await?.iter().any(|byte| *byte != 0) {
                return Ok(Some(format!("the {blocks} blocks from LBA {at} on are not all zeros")));
            }
            at += blocks;
        }
    }
    Ok(None)
}
