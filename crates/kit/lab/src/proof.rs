//! Proof before a case that the primitives it needs work, on a few mebibytes of each logical unit.
//!
//! A case measures the cost of a primitive, and checks the data. Some cases cannot distinguish a
//! primitive that was carried out from one that was only acknowledged: zeros where there were
//! zeros, locks without contention. The proof can.

use crate::bench::{Bench, KIB, MIB};
use crate::case::Primitive;
use crate::content;
use crate::device::{Place, Slice};
use crate::error::LabError;
use crate::outcome::{Outcome, Side};
use bytes::Bytes;
use data_mover::{Compared, CopyDescriptor, Device, DeviceError, Extent};
use std::time::Duration;

/// Bytes on which a primitive is tried.
const PART_BYTES: u64 = 512 * KIB;
/// Time that a unit may take to account for freed space.
const SETTLE: Duration = Duration::from_secs(10);
const POLL_PERIOD: Duration = Duration::from_millis(100);

/// Reason why a primitive is not proved.
enum Fault {
    /// A command failed: the case meets the error too, and reports it.
    Device(DeviceError),
    /// The unit's answer did not match what it did.
    Wrong(&'static str),
}

impl From<DeviceError> for Fault {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

/// A part of a logical unit, and the seed of the data written there.
struct Ground {
    slice: std::rc::Rc<Slice>,
    seed: u64,
}

impl Ground {
    /// Extent of part `number`; four parts lie behind each other.
    fn part(number: u64) -> Extent {
        Extent { lba: number * (PART_BYTES / 512), blocks: PART_BYTES / 512 }
    }

    fn data(&self, number: u64) -> Bytes {
        content::stamped(self.seed, number * PART_BYTES, PART_BYTES, 0)
    }

    /// Writes a part, and reads it back.
    async fn fill(&self, number: u64) -> Result<(), Fault> {
        self.slice.write(Self::part(number).lba, self.data(number)).await?;
        match self.slice.read(Self::part(number)).await? == self.data(number) {
            true => Ok(()),
            false => Err(Fault::Wrong("WRITE ended with GOOD, but the blocks hold other data")),
        }
    }

    async fn compares(&self) -> Result<(), Fault> {
        self.fill(0).await?;
        let block = Extent { lba: 0, blocks: 1 };
        let (is, other) = (self.data(0).slice(..512), self.data(1).slice(..512));
        if self.slice.compare_and_write(0, other.clone(), other.clone()).await? != Compared::Miscompare {
            return Err(Fault::Wrong("COMPARE AND WRITE of a different block ended with GOOD"));
        }
        if self.slice.read(block).await? != is {
            return Err(Fault::Wrong("COMPARE AND WRITE miscompared, and wrote"));
        }
        if self.slice.compare_and_write(0, is, other.clone()).await? != Compared::Written {
            return Err(Fault::Wrong("COMPARE AND WRITE of an equal block miscompared"));
        }
        match self.slice.read(block).await? == other {
            true => Ok(()),
            false => Err(Fault::Wrong("COMPARE AND WRITE ended with GOOD, but the block holds other data")),
        }
    }

    /// Proves EXTENDED COPY from another place, or from this one.
    async fn copies(&self, from: &Self) -> Result<(), Fault> {
        let Some(naa) = from.slice.identity().naa else { return Ok(()) };
        from.fill(0).await?;
        self.fill(1).await?;
        let most = u64::from(u16::MAX).min(self.slice.identity().limits.copy_segment).min(PART_BYTES / 512);
        let blocks = u16::try_from(most).unwrap_or(u16::MAX);
        let segment = CopyDescriptor { source_lba: 0, destination_lba: Self::part(1).lba, blocks };
        self.slice.extended_copy(&naa, &[segment]).await?;
        let copied = Extent { blocks: blocks.into(), ..Self::part(1) };
        let bytes = usize::from(blocks) * 512;
        match self.slice.read(copied).await? == from.data(0).slice(..bytes) {
            true => Ok(()),
            false => Err(Fault::Wrong("EXTENDED COPY ended with GOOD, but the destination holds other data")),
        }
    }

    async fn zeroes(&self) -> Result<(), Fault> {
        self.fill(2).await?;
        let blocks = self.slice.identity().limits.write_same.min(PART_BYTES / 512);
        let zeroed = Extent { blocks, ..Self::part(2) };
        self.slice.write_zeros(zeroed, true).await?;
        match self.slice.read(zeroed).await?.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(Fault::Wrong("WRITE SAME ended with GOOD, but the blocks do not read as zeros")),
        }
    }

    /// Proves UNMAP. `reads_zeros`: LBPRZ of the unit.
    async fn frees(&self, bench: &Bench, reads_zeros: bool) -> Result<(), Fault> {
        let limits = self.slice.identity().limits;
        if u64::from(limits.unmap_granularity) > PART_BYTES / 512 {
            // The parts are smaller than the unit's granularity.
            return Ok(());
        }
        self.fill(3).await?;
        if self.is_mapped(Ground::part(3)).await? == Some(false) {
            return Err(Fault::Wrong("GET LBA STATUS reports blocks as unmapped that were just written"));
        }
        let blocks = limits.unmap.min(PART_BYTES / 512);
        let freed = Extent { blocks, ..Self::part(3) };
        self.slice.unmap(&[freed]).await?;
        let until = bench.clock.now() + SETTLE;
        while self.is_mapped(freed).await? == Some(true) {
            if bench.clock.now() >= until {
                return Err(Fault::Wrong("UNMAP ended with GOOD, but GET LBA STATUS reports the blocks as mapped"));
            }
            bench.clock.sleep(POLL_PERIOD).await;
        }
        match !reads_zeros || self.slice.read(freed).await?.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(Fault::Wrong("LBPRZ is set, but unmapped blocks do not read as zeros")),
        }
    }

    /// Whether any block of an extent is mapped; `None` when the unit does not report it.
    async fn is_mapped(&self, extent: Extent) -> Result<Option<bool>, Fault> {
        let status = match self.slice.lba_status(extent.lba).await {
            Err(error) if error.is_lost() => return Err(error.into()),
            Err(_) => return Ok(None),
            Ok(status) => status,
        };
        let Some(first) = status.first() else { return Ok(None) };
        Ok(Some(first.mapped || first.extent.blocks < extent.blocks))
    }
}

impl Bench {
    /// Proves the primitives that a case needs on the units that it uses; a wrong result fails the
    /// case.
    pub(crate) async fn prove(&self, needs: &[Primitive], units: usize, outcome: &mut Outcome) -> Result<(), LabError> {
        let host = self.host(1, Side::On).await?;
        let mut grounds: Vec<Ground> = Vec::new();
        for (unit, identity) in self.units.iter().enumerate().take(units) {
            // Aligned to 8 MiB, so that coarse units can free it.
            let first = identity.blocks.saturating_sub(8 * MIB / 512) & !0x3fff;
            let place = Place { unit, first, blocks: 4 * PART_BYTES / 512 };
            if identity.block_bytes != 512 || first + place.blocks > identity.blocks {
                return Ok(());
            }
            grounds.push(Ground { slice: host.slice(place)?, seed: self.seed() });
        }
        let reads_zeros = self.reads_zeros().await?;
        for need in needs {
            for ground in &grounds {
                let proved = match need {
                    Primitive::Locking => ground.compares().await,
                    Primitive::Move => ground.copies(grounds.first().unwrap_or(ground)).await,
                    Primitive::Init => ground.zeroes().await,
                    Primitive::Unmap => ground.frees(self, reads_zeros).await,
                };
                match proved {
                    Ok(()) => {}
                    Err(Fault::Wrong(words)) => outcome.fail(format!("before the case: {words}")),
                    Err(Fault::Device(error)) if error.is_lost() => return Err(error.into()),
                    Err(Fault::Device(error)) => outcome.note(format!("before the case: {need}: {error}")),
                }
            }
        }
        Ok(())
    }
}
