//! Roles.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What its holder may do. A later role may do all that an earlier one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads, except the audit.
    Viewer,
    /// Changes volumes, shares, snapshots, hosts and access, and runs jobs.
    Operator,
    /// Everything, also pools, portals, users, tokens and the audit.
    Admin,
}

impl Role {
    /// Word of the role.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
