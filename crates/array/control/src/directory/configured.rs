//! Portals of the configuration with their identifiers.

use crate::ports::PortalOptions;
use std::collections::BTreeMap;

/// Portals of the configuration, as far as the directory needs them. No document holds them; they
/// change when a new portal is recorded.
#[derive(Clone, Debug, Default)]
pub struct ConfiguredPorts {
    /// Relative target port identifiers, in the order of the configuration; 0 for a portal without one.
    pub(super) identifiers: Vec<u16>,
    /// Target port groups that the configuration assigns, by port.
    pub(super) groups: BTreeMap<u16, u16>,
}

impl ConfiguredPorts {
    /// `identifiers`: those of `portals`, in the same order; 0 for a portal that has none.
    pub(crate) fn new(identifiers: Vec<u16>, portals: &[PortalOptions]) -> Self {
        let identified = identifiers.iter().zip(portals).filter(|(identifier, _)| **identifier != 0);
        let groups = identified.filter_map(|(port, portal)| Some((*port, portal.group?))).collect();
        Self { identifiers, groups }
    }
}
