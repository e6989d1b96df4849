//! Network portals, and the target port groups that they belong to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A network portal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Portal {
    /// Relative target port identifier: the number of the portal, which is never reused.
    pub id: u16,
    /// Protocol: `iscsi`.
    pub protocol: String,
    /// Address and port that the portal listens on.
    pub listen: String,
    /// Address and port that the array announces to hosts.
    pub advertised: String,
    /// Name of the target that the portal serves.
    pub target: String,
    /// Number of the portal's target port group.
    pub group: u16,
    /// Access state of that group.
    pub state: AccessState,
    /// Address and port that logins are redirected to; `null` without a redirect.
    pub redirect: Option<String>,
    /// True if the redirect is permanent.
    pub redirect_permanently: bool,
}

/// Request to change a portal. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PortalSet {
    /// Number of the target port group, 1 to 65535.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u16>,
    /// Redirect logins to this address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// Make `redirect` permanent: initiators may remember it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redirect_permanently: bool,
    /// Stop redirecting, and accept logins again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove_redirect: bool,
    /// Apply the change even if hosts lose their last active path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// Asymmetric access state of a target port group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessState {
    /// Every command works, on a preferred path.
    ActiveOptimized,
    /// Every command works; other paths are better.
    ActiveNonOptimized,
    /// Commands that access the medium are refused.
    Standby,
    /// Like standby, with fewer commands.
    Unavailable,
    /// The state is changing; hosts retry.
    Transitioning,
}

/// Origin of the state of a target port group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateOrigin {
    /// The initial state, never changed.
    None,
    /// A host changed it (SET TARGET PORT GROUPS).
    Explicit,
    /// The array or its administrator changed it.
    Implicit,
}

/// A target port group: portals that share one access state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortGroup {
    /// Number of the group.
    pub id: u16,
    /// Access state of the group.
    pub state: AccessState,
    /// True if hosts should prefer this group to others in the same state.
    pub preferred: bool,
    /// Origin of the state.
    pub origin: StateOrigin,
    /// Addresses that the portals of the group listen on.
    pub portals: Vec<String>,
    /// Number of sessions through these portals.
    pub sessions: u64,
}

/// Request to change a target port group. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PortGroupSet {
    /// New state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AccessState>,
    /// Make hosts prefer this group to others in the same state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred: Option<bool>,
    /// Apply the change even if hosts lose their last active path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}
