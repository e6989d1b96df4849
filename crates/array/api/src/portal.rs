//! Network portals, and the target port groups that they form.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A network portal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Portal {
    /// Relative target port identifier: the portal's number, which no other one ever gets.
    pub id: u16,
    /// `iscsi`.
    pub protocol: String,
    /// Address and port it listens on.
    pub listen: String,
    /// Address and port that hosts are told.
    pub advertised: String,
    /// Name of the target behind it.
    pub target: String,
    /// Target port group that it belongs to.
    pub group: u16,
    /// State of that group.
    pub state: AccessState,
    /// Address and port that logins are sent to, if they are.
    pub redirect: Option<String>,
    /// They are told to go there for good.
    pub redirect_permanently: bool,
}

/// A change of a portal; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PortalSet {
    /// Target port group, 1 to 65535.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u16>,
    /// Send logins to this address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// With `redirect`: initiators may remember it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redirect_permanently: bool,
    /// Take logins again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove_redirect: bool,
    /// Also when hosts lose their last active path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// Asymmetric access state of a target port group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessState {
    /// Every command works, and this is the way.
    ActiveOptimized,
    /// Every command works; other ways are better.
    ActiveNonOptimized,
    /// What accesses the medium is refused.
    Standby,
    /// As standby, with fewer commands.
    Unavailable,
    /// Between two states: hosts try again.
    Transitioning,
}

/// What made the state of a target port group what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateOrigin {
    /// It was always so.
    None,
    /// A host (SET TARGET PORT GROUPS).
    Explicit,
    /// The array or its administrator.
    Implicit,
}

/// A target port group: portals that have the same state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortGroup {
    /// Its number.
    pub id: u16,
    /// Its state.
    pub state: AccessState,
    /// Hosts should use it before others in the same state.
    pub preferred: bool,
    /// What made the state what it is.
    pub origin: StateOrigin,
    /// Addresses that its portals listen on.
    pub portals: Vec<String>,
    /// Sessions through them.
    pub sessions: u64,
}

/// A change of a target port group; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PortGroupSet {
    /// New state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AccessState>,
    /// Hosts should use it before others in the same state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred: Option<bool>,
    /// Also when hosts lose their last active path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}
