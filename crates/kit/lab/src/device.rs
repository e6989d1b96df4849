//! A slice of a logical unit as one host sees it: the device of a datastore. So one logical unit
//! can hold several datastores, and a primitive that has no switch on the host (UNMAP) can be
//! removed from the unit's limits.

use bytes::Bytes;
#[cfg(test)]
use data_mover::memory::MemoryDevice;
use data_mover::{Compared, CopyDescriptor, Device, DeviceError, Extent, Gate, Identity, LbaStatus, Sense};
use initiator::{Counters, LogicalUnit};
use std::rc::Rc;

/// A whole logical unit as one host sees it.
#[derive(Clone)]
pub(crate) enum Unit {
    Iscsi(LogicalUnit),
    /// A unit in memory, for tests of the cases.
    #[cfg(test)]
    Memory(MemoryDevice),
}

/// Evaluates an expression for either kind of unit.
macro_rules! each {
    ($unit:expr, $device:ident => $work:expr) => {
        match $unit {
            Unit::Iscsi($device) => $work,
            #[cfg(test)]
            Unit::Memory($device) => $work,
        }
    };
}

impl Unit {
    pub(crate) fn identity(&self) -> &Identity {
        each!(self, device => device.identity())
    }

    /// Traffic between the host and the unit, counted by session.
    pub(crate) fn counters(&self) -> Counters {
        match self {
            Self::Iscsi(unit) => unit.session().counters(),
            #[cfg(test)]
            Self::Memory(device) => Counters { commands: device.unit().commands(), ..Counters::default() },
        }
    }

    /// Whether unmapped blocks read as zeros.
    pub(crate) fn reads_zeros(&self) -> bool {
        match self {
            Self::Iscsi(unit) => unit.is_thin() && unit.reads_zeros(),
            #[cfg(test)]
            Self::Memory(_) => true,
        }
    }

    pub(crate) async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        each!(self, device => device.read(extent).await)
    }

    pub(crate) async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        each!(self, device => device.write(lba, data).await)
    }

    pub(crate) async fn reserve(&self) -> Result<(), DeviceError> {
        each!(self, device => device.reserve().await)
    }

    pub(crate) async fn release(&self) -> Result<(), DeviceError> {
        each!(self, device => device.release().await)
    }

    pub(crate) async fn reset(&self) -> Result<(), DeviceError> {
        each!(self, device => device.reset().await)
    }
}

/// A part of a logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index of the logical unit in the run.
    pub(crate) unit: usize,
    /// First logical block.
    pub(crate) first: u64,
    /// Number of logical blocks.
    pub(crate) blocks: u64,
}

/// First byte of a slice's name, which stands in place of a designator and also says where the
/// slice begins. No NAA designator begins with this byte.
const SLICE: u8 = 0xff;

impl Place {
    fn name(&self) -> [u8; 16] {
        let [a, b, c, d, e, f, g, h] = self.first.to_be_bytes();
        let unit = u8::try_from(self.unit).unwrap_or(u8::MAX);
        [SLICE, unit, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f, g, h]
    }

    /// Decodes a slice's name into unit and first block.
    fn parse(name: &[u8; 16]) -> Option<(usize, u64)> {
        match name {
            [SLICE, unit, _, _, _, _, _, _, a, b, c, d, e, f, g, h] => {
                Some((usize::from(*unit), u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h])))
            }
            _ => None,
        }
    }
}

/// A slice of a logical unit.
pub(crate) struct Slice {
    unit: Unit,
    first: u64,
    identity: Identity,
    /// Designators of all logical units of the run.
    designators: Rc<Vec<Option<[u8; 16]>>>,
}

impl Slice {
    /// Creates a slice; `change` alters the identity that the host sees.
    pub(crate) fn new(
        unit: &Unit,
        place: Place,
        designators: &Rc<Vec<Option<[u8; 16]>>>,
        change: impl FnOnce(&mut Identity),
    ) -> Self {
        let mut identity = unit.identity().clone();
        identity.blocks = place.blocks;
        identity.naa = identity.naa.map(|_| place.name());
        change(&mut identity);
        Self { unit: unit.clone(), first: place.first, identity, designators: designators.clone() }
    }

    /// Translates an extent of the slice to the unit.
    fn inside(&self, extent: Extent, command: &'static str) -> Result<Extent, DeviceError> {
        match extent.lba.checked_add(extent.blocks).is_some_and(|end| end <= self.identity.blocks) {
            true => Ok(Extent { lba: extent.lba + self.first, ..extent }),
            // LOGICAL BLOCK ADDRESS OUT OF RANGE, as a unit of this size would answer.
            false => Err(DeviceError::Refused { command, sense: Sense { key: 5, code: 0x21, qualifier: 0 } }),
        }
    }

    fn blocks_of(&self, data: &Bytes) -> u64 {
        data.len() as u64 / u64::from(self.identity.block_bytes.max(1))
    }
}

impl Device for Slice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        self.unit.read(self.inside(extent, "READ")?).await
    }

    async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        let extent = self.inside(Extent { lba, blocks: self.blocks_of(&data) }, "WRITE")?;
        self.unit.write(extent.lba, data).await
    }

    async fn compare_and_write(&self, lba: u64, expected: Bytes, new: Bytes) -> Result<Compared, DeviceError> {
        let extent = self.inside(Extent { lba, blocks: self.blocks_of(&expected) }, "COMPARE AND WRITE")?;
        each!(&self.unit, device => device.compare_and_write(extent.lba, expected, new).await)
    }

    async fn write_zeros(&self, extent: Extent, unmap: bool) -> Result<(), DeviceError> {
        let extent = self.inside(extent, "WRITE SAME")?;
        each!(&self.unit, device => device.write_zeros(extent, unmap).await)
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), DeviceError> {
        let extents: Result<Vec<_>, _> = extents.iter().map(|extent| self.inside(*extent, "UNMAP")).collect();
        let extents = extents?;
        each!(&self.unit, device => device.unmap(&extents).await)
    }

    async fn extended_copy(&self, source: &[u8; 16], segments: &[CopyDescriptor]) -> Result<(), DeviceError> {
        let (unit, first) = Place::parse(source).ok_or(DeviceError::NotSupported("EXTENDED COPY"))?;
        let designator = self.designators.get(unit).copied().flatten();
        let designator = designator.ok_or(DeviceError::NotSupported("EXTENDED COPY"))?;
        let mut moved = Vec::with_capacity(segments.len());
        for segment in segments {
            let to = Extent { lba: segment.destination_lba, blocks: segment.blocks.into() };
            let to = self.inside(to, "EXTENDED COPY")?;
            moved.push(CopyDescriptor {
                source_lba: segment.source_lba + first,
                destination_lba: to.lba,
                blocks: segment.blocks,
            });
        }
        each!(&self.unit, device => device.extended_copy(&designator, &moved).await)
    }

    async fn lba_status(&self, lba: u64) -> Result<Vec<LbaStatus>, DeviceError> {
        let from = self.inside(Extent { lba, blocks: 1 }, "GET LBA STATUS")?;
        let runs = each!(&self.unit, device => device.lba_status(from.lba).await)?;
        let end = self.first + self.identity.blocks;
        let mine = runs.into_iter().take_while(|run| run.extent.lba < end).map(|run| {
            let blocks = run.extent.blocks.min(end - run.extent.lba);
            LbaStatus { extent: Extent { lba: run.extent.lba - self.first, blocks }, ..run }
        });
        Ok(mine.collect())
    }

    fn reserves(&self) -> Option<[u8; 16]> {
        self.unit.identity().naa
    }

    async fn reserve(&self) -> Result<(), DeviceError> {
        self.unit.reserve().await
    }

    async fn release(&self) -> Result<(), DeviceError> {
        self.unit.release().await
    }

    async fn read_reserved(&self, extent: Extent) -> Result<Bytes, DeviceError> {
        let extent = self.inside(extent, "READ")?;
        each!(&self.unit, device => device.read_reserved(extent).await)
    }

    async fn write_reserved(&self, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        let extent = self.inside(Extent { lba, blocks: self.blocks_of(&data) }, "WRITE")?;
        each!(&self.unit, device => device.write_reserved(extent.lba, data).await)
    }

    async fn reset(&self) -> Result<(), DeviceError> {
        each!(&self.unit, device => device.reset().await)
    }

    fn only_while(&self, gate: Gate) {
        each!(&self.unit, device => device.only_while(gate));
    }
}
