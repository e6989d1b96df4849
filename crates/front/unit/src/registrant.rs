//! Names of the clients that hold registrations.

/// Initiator, as registrations of any protocol name it. It outlives sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Registrant {
    /// Relative target port identifier; 0 in a protocol whose registrations hold at every port.
    pub target_port: u16,
    /// Name of the initiator: an IQN, or the NQN of a host.
    pub name: String,
    /// Number that distinguishes initiators of one name: an ISID, or a host identifier.
    pub instance: u128,
}
