//! Logical units that an I_T nexus sees, as values: what a transport needs in order to receive
//! commands and their Data-Out on another thread than the target.
//!
//! A view is of one instant. The target checks the arrival of each command again
//! ([`ScsiTarget::execute_arrived`]), so an outdated view leads to a refusal and never to another
//! logical unit.

use crate::device::{Arrival, ScsiTarget};
use crate::execution;
use crate::limits::Limits;
use crate::nexus_id::NexusId;
use block::{BlockDevice, VolumeId};
use scsi::{Cdb, LogicalUnitNumber};

/// Logical unit at a LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VisibleUnit {
    lun: LogicalUnitNumber,
    volume: VolumeId,
    content_generation: u64,
    /// Size in logical blocks.
    block_count: u64,
}

/// Logical units that a nexus sees.
#[derive(Clone, Debug)]
pub struct NexusView {
    /// Ascending by LUN.
    units: Vec<VisibleUnit>,
    limits: Limits,
}

impl NexusView {
    fn at(&self, lun: [u8; 8]) -> Option<&VisibleUnit> {
        let lun = LogicalUnitNumber::decode(lun)?;
        let index = self.units.binary_search_by_key(&lun, |unit| unit.lun).ok()?;
        self.units.get(index)
    }

    /// As [`ScsiTarget::arrival`].
    pub fn arrival(&self, lun: [u8; 8]) -> Arrival {
        self.at(lun).map_or_else(Arrival::default, |unit| Arrival {
            volume: Some(unit.volume),
            content_generation: unit.content_generation,
        })
    }

    /// As [`ScsiTarget::data_out_bytes`].
    pub fn data_out_bytes(&self, lun: [u8; 8], cdb: &[u8; 16], expected: u32) -> u32 {
        let Some(unit) = self.at(lun) else { return 0 };
        execution::data_out_bytes(&self.limits, unit.block_count, &Cdb(*cdb), expected)
    }

    /// Whether the units are those of another view.
    pub fn has_units_of(&self, other: &Self) -> bool {
        self.units == other.units
    }
}

impl<D: BlockDevice + 'static> ScsiTarget<D> {
    /// View of a nexus; empty if it is not attached.
    pub fn view_of(&self, nexus: NexusId) -> NexusView {
        let paths = self.nexus(nexus).map(|nexus| nexus.view()).unwrap_or_default();
        let units = paths.iter().map(|path| VisibleUnit {
            lun: path.lun,
            volume: path.unit().volume(),
            content_generation: path.unit().content_generation(),
            block_count: path.unit().block_count(),
        });
        NexusView { units: units.collect(), limits: *self.limits() }
    }
}
