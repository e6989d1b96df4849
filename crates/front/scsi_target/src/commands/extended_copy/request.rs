//! Checked EXTENDED COPY, and the logical units that it names.

use super::parameter_list::{Endpoint, ParameterList};
use crate::device::Invocation;
use crate::logical_unit::LogicalUnit;
use crate::nexus::Nexus;
use crate::sense::{CopyCause, Fault};
use block::BlockDevice;
use scsi::FieldPointer;
use scsi::third_party_copy::CSCD_RECEIVING_LOGICAL_UNIT;
use std::rc::Rc;
use unit::Unit;

/// Checked EXTENDED COPY.
pub(crate) struct Request<D> {
    pub(super) list: ParameterList,
    /// Logical units of the CSCD descriptors when the copy began, each with its content generation.
    units: Vec<Option<(Rc<LogicalUnit<D>>, u64)>>,
}

impl<D: BlockDevice> Request<D> {
    pub(super) fn new(call: &Invocation<'_, D>, list: ParameterList) -> Self {
        let find = |Endpoint { code_set, kind, .. }: &Endpoint, designator: &[u8]| {
            let path = call.nexus.find(|unit| unit.has_designator(*code_set, *kind, designator))?;
            Some((Rc::clone(&path.logical_unit), path.unit().content_generation()))
        };
        let units = list.endpoints.iter().map(|endpoint| find(endpoint, endpoint.designator())).collect();
        Self { list, units }
    }

    pub fn keeps_results(&self) -> bool {
        self.list.keeps_results()
    }
}

/// Copy source or destination of a segment.
pub(super) struct End<'a, D> {
    pub logical_unit: &'a LogicalUnit<D>,
    content_generation: u64,
    index: u16,
    /// Field of the segment that holds the index.
    at: FieldPointer,
}

impl<D: BlockDevice> End<'_, D> {
    /// State of the volume, shared with other protocols.
    pub fn unit(&self) -> &Unit<D> {
        self.logical_unit.unit()
    }

    /// Checks that the nexus still sees the logical unit.
    pub fn check_visible(&self, nexus: &Nexus<D>) -> Result<(), CopyCause> {
        if nexus.sees(self.logical_unit) {
            Ok(())
        } else {
            Err(CopyCause::NotVisible { index: self.index, at: self.at })
        }
    }

    /// Checks that the content has not been replaced (roll-back, sanitize) since the copy began.
    pub fn check_content(&self) -> Result<(), Fault> {
        self.logical_unit.check_content(self.content_generation)
    }
}

/// Resolves a CSCD index to its logical unit. `at`: byte of the index in the segment.
pub(super) fn resolve<'a, D: BlockDevice>(
    call: &'a Invocation<'_, D>,
    request: &'a Request<D>,
    index: u16,
    at: u16,
) -> Result<End<'a, D>, CopyCause> {
    let at = FieldPointer::segment(at);
    if index == CSCD_RECEIVING_LOGICAL_UNIT {
        return Ok(End { logical_unit: call.logical_unit, content_generation: call.content_generation, index, at });
    }
    let endpoint = request.list.endpoints.get(usize::from(index)).ok_or(CopyCause::NoSuchCscd { index, at })?;
    let found = request.units.get(usize::from(index)).and_then(Option::as_ref);
    let (logical_unit, content_generation) = found.ok_or(CopyCause::NotVisible { index, at })?;
    if !endpoint.is_block_device {
        return Err(CopyCause::WrongDeviceType { index });
    }
    Ok(End { logical_unit, content_generation: *content_generation, index, at })
}
