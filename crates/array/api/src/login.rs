//! Login attempts of initiators.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use utoipa::{IntoParams, ToSchema};

/// Login attempts of one initiator that ended alike. The array keeps the last 1 024 rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Login {
    /// Number of the last of them; later attempts have larger ones.
    pub id: u64,
    /// Time of the last of them.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Time of the first of them.
    #[schema(value_type = String, format = DateTime)]
    pub first: Timestamp,
    /// Number of attempts.
    pub count: u64,
    /// Initiator name that they claimed, in lower case. Anybody can claim a name.
    pub initiator: String,
    /// Host that has this name, if there is one.
    pub host: Option<String>,
    /// Remote address.
    #[schema(value_type = String)]
    pub from: IpAddr,
    /// Address and port of the array's network portal.
    #[schema(value_type = String)]
    pub portal: SocketAddr,
    /// True for discovery sessions, in which hosts ask for targets.
    pub discovery: bool,
    /// How they ended.
    pub outcome: LoginOutcome,
    /// Reason, for people.
    pub detail: String,
}

/// How a login attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoginOutcome {
    /// The session opened; in a discovery session, the target was shown.
    Ok,
    /// No host has the name, and no volume is open to every initiator.
    UnknownInitiator,
    /// CHAP failed, or was not offered although the host has to authenticate.
    ChapFailed,
    /// The session opened, and no volume is granted to the host.
    NotGranted,
    /// Too many sessions are open.
    Full,
    /// The portal redirects logins.
    Redirected,
    /// The array has no target of the requested name.
    UnknownTarget,
    /// Any other reason; the detail has it.
    Protocol,
}

/// Filter of login attempts: those that match every parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LoginFilter {
    /// Only attempts under an initiator name of this host, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Only attempts that ended so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub outcome: Option<LoginOutcome>,
    /// True: only attempts after which the initiator could use no volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<bool>,
    /// Only rows whose last attempt was at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
}
