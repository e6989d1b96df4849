//! A range to work on. Blocks that nothing is stored in are taken if the unit says which; else the last ones. Their content is kept, and put back.

use crate::{ProbeError, Subject};
use bytes::Bytes;
use data_mover::{Device, DeviceError, Extent};
use iscsi::initiator::TransferRequest;
use iscsi_initiator::{LogicalUnit, cdb};

/// Bytes of the range: three parts of 64 KiB.
const PART_BYTES: u64 = 64 << 10;
const PARTS: u64 = 3;
/// Bytes moved by one command.
const STEP_BYTES: u64 = 64 << 10;
/// The range begins at a multiple of this, so that units with a coarse grain can free it.
const ALIGNMENT_BYTES: u64 = 1 << 20;
/// Where unmapped space is looked for, from the end of the unit.
const TRIES: u64 = 64;

pub(crate) struct Scratch {
    pub(crate) lba: u64,
    /// Blocks of a part.
    pub(crate) part: u64,
    kept: Vec<Bytes>,
    /// Nothing was stored there.
    unmapped: bool,
}

impl Scratch {
    /// Chooses a range and keeps what it holds.
    pub(crate) async fn take(subject: &Subject) -> Result<Self, ProbeError> {
        let unit = &subject.unit;
        let identity = unit.identity();
        let block_bytes = u64::from(identity.block_bytes);
        if block_bytes == 0 || !PART_BYTES.is_multiple_of(block_bytes) {
            return Err(ProbeError::NoScratch(format!(
                "a write test wants blocks of at most 64 KiB; these have {block_bytes} bytes"
            )));
        }
        let part = PART_BYTES / block_bytes;
        let aligned = ALIGNMENT_BYTES / block_bytes;
        let Some(last) = (identity.blocks / aligned).checked_sub(1) else {
            let words =
                format!("the logical unit has {} bytes; a write test wants 1 MiB", identity.blocks * block_bytes);
            return Err(ProbeError::NoScratch(words));
        };
        let mut chosen = (last * aligned, false);
        for back in 0..TRIES.min(last + 1) {
            let lba = (last - back) * aligned;
            match is_unmapped(subject, lba, part * PARTS).await? {
                Some(true) => {
                    chosen = (lba, true);
                    break;
                }
                Some(false) => {}
                // The unit does not tell.
                None => break,
            }
        }
        let (lba, unmapped) = chosen;
        let step = STEP_BYTES / block_bytes;
        let mut kept = Vec::new();
        for from in (0..part * PARTS).step_by(usize::try_from(step).unwrap_or(1)) {
            kept.push(unit.read(Extent { lba: lba + from, blocks: step }).await?);
        }
        Ok(Self { lba, part, kept, unmapped })
    }

    /// First block of a part.
    pub(crate) fn at(&self, part: u64) -> u64 {
        self.lba + part * self.part
    }

    /// A part.
    pub(crate) fn extent(&self, part: u64) -> Extent {
        Extent { lba: self.at(part), blocks: self.part }
    }

    /// Puts back what was there.
    pub(crate) async fn restore(&self, unit: &LogicalUnit) -> Result<(), ProbeError> {
        let blocks = self.part * PARTS;
        let failed = |reason| ProbeError::NotRestored { lba: self.lba, blocks, reason };
        let mut lba = self.lba;
        for data in &self.kept {
            let count = data.len() as u64 / u64::from(unit.identity().block_bytes);
            unit.write(lba, data.clone()).await.map_err(failed)?;
            lba += count;
        }
        if self.unmapped {
            unit.unmap(&[Extent { lba: self.lba, blocks }]).await.map_err(failed)?;
        }
        Ok(())
    }
}

/// Whether nothing is stored in a range, as GET LBA STATUS says; `None` when the unit does not know the command.
pub(crate) async fn is_unmapped(subject: &Subject, lba: u64, blocks: u64) -> Result<Option<bool>, DeviceError> {
    let command = subject.unit.run("GET LBA STATUS", cdb::get_lba_status(lba, 24), TransferRequest::In(24));
    let answer = match command.await {
        Ok(answer) => answer,
        Err(error) if error.is_lost() => return Err(error),
        Err(_) => return Ok(None),
    };
    let (Some(count), Some(status)) = (answer.get(16..20), answer.get(20)) else { return Ok(None) };
    let count = count.try_into().map_or(0, u32::from_be_bytes);
    Ok(Some(status & 0x0f == 1 && u64::from(count) >= blocks))
}
