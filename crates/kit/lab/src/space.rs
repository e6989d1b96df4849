//! Space of a logical unit, as the array reports it: GET LBA STATUS for mapped blocks (SBC-3 §5.4),
//! and the logical block provisioning log page for the free space of the pool behind it (SBC-3
//! §6.3.4), in the unit of VPD page B2h's threshold exponent.

use crate::device::{Place, Unit};
use data_mover::DeviceError;
use initiator::{LogicalUnit, cdb};
use iscsi::initiator::TransferRequest;

/// LOG SENSE of the cumulative values of page 0Ch, SPC-4 §6.8.
const LOG_SENSE: [u8; 10] = [0x4d, 0, 0x40 | 0x0c, 0, 0, 0, 0, 0x04, 0, 0];
const LOG_BYTES: u32 = 1024;
/// Available LBA mapping resources.
const AVAILABLE: u16 = 1;

/// Space in bytes; `None` where it is not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Space {
    /// Mapped bytes of the place.
    pub(crate) mapped: Option<u64>,
    /// Free bytes of the pool, rounded down to `grain`.
    pub(crate) available: Option<u64>,
    /// Granularity of `available`.
    pub(crate) grain: u64,
}

impl Space {
    /// Whether nothing is reported.
    pub(crate) fn is_unknown(&self) -> bool {
        self.mapped.is_none() && self.available.is_none()
    }

    /// Increase of the mapped bytes.
    pub(crate) fn mapped_since(&self, before: &Self) -> Option<f64> {
        Some(self.mapped? as f64 - before.mapped? as f64)
    }

    /// Decrease of the free bytes of the pool.
    pub(crate) fn taken_since(&self, before: &Self) -> Option<f64> {
        Some(before.available? as f64 - self.available? as f64)
    }
}

/// Determines the space of a place.
pub(crate) async fn space(unit: &Unit, place: Place) -> Result<Space, DeviceError> {
    match unit {
        Unit::Iscsi(unit) => {
            let (available, grain) = available(unit).await?;
            Ok(Space { mapped: mapped(unit, place).await?, available, grain })
        }
        #[cfg(test)]
        Unit::Memory(device) => {
            let bytes = |blocks: u64| blocks * u64::from(data_mover::memory::BLOCK_BYTES);
            let allocated = bytes(device.unit().allocated() as u64);
            let mapped = memory_mapped(device, place).await.map_or(allocated, bytes);
            Ok(Space { mapped: Some(mapped), available: Some((1 << 50) - allocated), grain: 1 })
        }
    }
}

/// Number of mapped blocks in a place of a unit in memory; `None` when it does not report them.
#[cfg(test)]
async fn memory_mapped(device: &data_mover::memory::MemoryDevice, place: Place) -> Option<u64> {
    use data_mover::Device;
    let (mut mapped, mut at) = (0, place.first);
    while at < place.first + place.blocks {
        let run = device.lba_status(at).await.ok()?.first().copied()?;
        let end = (run.extent.lba + run.extent.blocks).min(place.first + place.blocks);
        mapped += if run.mapped { end - at } else { 0 };
        at = end;
    }
    Some(mapped)
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Mapped bytes of a place; `None` when the unit does not report them.
async fn mapped(unit: &LogicalUnit, place: Place) -> Result<Option<u64>, DeviceError> {
    use data_mover::Device;
    let mut blocks = 0;
    let mut count = |extent: data_mover::Extent| {
        blocks += extent.blocks;
        true
    };
    match unit.each_mapped(place.first..place.first + place.blocks, &mut count).await {
        Err(error) if error.is_lost() => Err(error),
        Err(_) | Ok(None) => Ok(None),
        Ok(Some(_)) => Ok(Some(blocks * u64::from(unit.identity().block_bytes))),
    }
}

/// Free bytes of the pool, and their granularity.
async fn available(unit: &LogicalUnit) -> Result<(Option<u64>, u64), DeviceError> {
    use data_mover::Device;
    let exponent = unit.page(0xb2).await?.and_then(|page| page.get(4).copied()).unwrap_or(0);
    let log = unit.run("LOG SENSE", cdb::padded(&LOG_SENSE), TransferRequest::In(LOG_BYTES)).await;
    let page = match log {
        Ok(page) => page,
        Err(error) if error.is_lost() => return Err(error),
        Err(_) => return Ok((None, 0)),
    };
    let grain = 1_u64.checked_shl(exponent.into()).unwrap_or(0).saturating_mul(unit.identity().block_bytes.into());
    Ok((parameter(&page, AVAILABLE).map(|count| u64::from(count).saturating_mul(grain)), grain))
}

/// Reads a count of the logical block provisioning log page.
fn parameter(page: &[u8], code: u16) -> Option<u32> {
    if page.first()? & 0x3f != 0x0c {
        return None;
    }
    let mut rest = page.get(4..)?;
    while let [high, low, _control, length, tail @ ..] = rest {
        let (value, next) = tail.split_at_checked(usize::from(*length))?;
        if u16::from_be_bytes([*high, *low]) == code {
            return number(value, 0).map(u32::from_be_bytes);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_page_s_counts_are_found_by_their_codes() {
        let page = [
            0x0c, 0, 0, 24, 0, 1, 3, 8, 0, 0, 1, 0, 2, 0, 0, 0, //
            0, 2, 3, 8, 0, 0, 0, 7, 1, 0, 0, 0,
        ];
        assert_eq!((parameter(&page, 1), parameter(&page, 2), parameter(&page, 3)), (Some(256), Some(7), None));
        assert_eq!((parameter(&page[..14], 1), parameter(&[], 1), parameter(&[0x0d, 0, 0, 0], 1)), (None, None, None));
    }
}
