//! Identifiers of I_T nexuses.

use unit::ClientId;

/// Name of the protocol of these clients.
const PROTOCOL: &str = "SCSI";

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
        ClientId { protocol: PROTOCOL, number: u64::from(self.slot) << 32 | u64::from(self.generation) }
    }

    /// Identifier of the nexus that a client is; `None` for a client of another protocol.
    pub(crate) fn of_client(client: ClientId) -> Option<Self> {
        let [s0, s1, s2, s3, generation @ ..] = client.number.to_be_bytes();
        let (slot, generation) = (u32::from_be_bytes([s0, s1, s2, s3]), u32::from_be_bytes(generation));
        (client.protocol == PROTOCOL).then_some(Self { slot, generation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_the_nexus_that_it_was_made_of() {
        for nexus in [NexusId::new(0, 0), NexusId::new(1, u32::MAX), NexusId::new(u32::MAX, 7)] {
            assert_eq!(NexusId::of_client(nexus.client()), Some(nexus));
        }
        assert_eq!(NexusId::of_client(ClientId { protocol: "NVMe", number: 1 }), None);
    }
}
