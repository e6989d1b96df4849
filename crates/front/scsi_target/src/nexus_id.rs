//! Identifiers of I_T nexuses.

use unit::ClientId;

/// Identifier of an attached I_T nexus. Never reused while the target lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NexusId {
    slot: u32,
    generation: u32,
}

impl NexusId {
    pub(crate) const fn new(slot: u32, generation: u32) -> Self {
        Self { slot, generation }
    }

    /// Place in the table of nexuses.
    pub(crate) fn slot(self) -> Option<usize> {
        usize::try_from(self.slot).ok()
    }

    /// Identifier of the nexus among the clients of all protocols.
    pub(crate) fn client(self) -> ClientId {
        ClientId { protocol: "SCSI", number: u64::from(self.slot) << 32 | u64::from(self.generation) }
    }
}
