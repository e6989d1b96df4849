//! What limits of quality of service have to know of a command before it begins.
//!
//! Commands that are neither reads and writes nor offload are never delayed: paths are checked, reservations kept and
//! volumes found by them, and they move no content for hosts. (VERIFY reads the medium, and counts as one of them.)

use crate::command::{Command, DataOutQuery};
use crate::commands;
use crate::device::{Arrival, ScsiTarget};
use crate::limits::Limits;
use crate::task_set::TaskAttribute;
use block::{BlockDevice, VolumeId};
use qos::Class;
use scsi::Cdb;
use unit::{Io, Primitive};

/// How limits apply to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// Volume whose limits apply.
    pub volume: VolumeId,
    /// Class of the command. [`Class::Behind`]: it is never delayed for itself.
    pub class: Class,
    /// Bytes that it reads or writes; 0 for offload, which is charged for its work.
    pub bytes: u64,
}

impl Command {
    /// How limits apply to a CDB, and the bytes that it reads or writes. [`Class::Behind`]: it is never delayed.
    fn admission(&self, cdb: &Cdb, limits: &Limits, device_blocks: u64) -> (Class, u64) {
        let query = DataOutQuery { command: self, cdb, limits, device_blocks };
        match (self.io, self.offload) {
            (Some(Io::Read), _) => (Class::Ordinary, query.range_bytes()),
            (Some(Io::Write), _) => (Class::Ordinary, self.data_out_bytes(cdb, limits, device_blocks)),
            (None, Some(Primitive::Ats)) => (Class::Heartbeat, self.data_out_bytes(cdb, limits, device_blocks)),
            (None, Some(_)) => (Class::Ordinary, 0),
            (None, None) => (Class::Behind, 0),
        }
    }
}

/// Class of a command with this attribute. HEAD OF QUEUE goes before others. ORDERED overtakes nothing, even if the
/// command would never be delayed.
const fn ordered(class: Class, attribute: TaskAttribute) -> Option<Class> {
    match (class, attribute) {
        (Class::Behind, TaskAttribute::Ordered) => Some(Class::Behind),
        (Class::Behind, _) | (_, TaskAttribute::Invalid) => None,
        (Class::Heartbeat, TaskAttribute::Ordered) => Some(Class::Ordinary),
        (Class::Ordinary, TaskAttribute::HeadOfQueue) => Some(Class::First),
        (class, _) => Some(class),
    }
}

impl<D: BlockDevice + 'static> ScsiTarget<D> {
    /// How limits apply to a command that has arrived. `None`: it does not wait for any. `expected_data_out`: bytes
    /// that the initiator announced.
    pub fn limited(
        &self,
        cdb: &[u8; 16],
        attribute: TaskAttribute,
        arrival: Arrival,
        expected_data_out: u32,
    ) -> Option<Limited> {
        let volume = arrival.volume?;
        let cdb = Cdb(*cdb);
        let command = commands::find(&cdb).ok()?.command;
        let device_blocks = self.logical_unit(volume)?.unit().block_count();
        let (class, bytes) = command.admission(&cdb, self.limits(), device_blocks);
        let bytes = if command.takes_data() { bytes.min(expected_data_out.into()) } else { bytes };
        Some(Limited { volume, class: ordered(class, attribute)?, bytes })
    }
}
