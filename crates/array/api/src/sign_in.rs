//! Sign-ins of browsers, and the set-up of a new array.

use crate::Role;
use crate::redacted::redacted_debug;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Request to sign in. The answer sets a cookie.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInStart {
    /// Name of the user.
    pub user: String,
    /// Password.
    pub password: String,
    /// A wall display: the sign-in of a viewer that lasts 30 days. Default: false.
    #[serde(default)]
    pub display: bool,
}

/// Who a request is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInState {
    /// `user`, `token`, or `local` for a process on the administrative socket.
    pub kind: String,
    /// Name of the user or token; `uid:N` of a process.
    pub user: String,
    /// Its role.
    pub role: Role,
    /// True: the user may only change the password.
    pub must_change: bool,
    /// Value of the header `Windlass-CSRF`, which changes need beside the cookie of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
    /// Seconds without a request after which the sign-in of a user ends; absent for a wall display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u64>,
}

/// A sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignIn {
    /// Identity.
    pub id: Uuid,
    /// Name of the user.
    pub user: String,
    /// Address of the browser.
    pub from: String,
    /// Name of the browser, from its `User-Agent`.
    pub agent: String,
    /// Start.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Time of the last request.
    #[schema(value_type = String, format = DateTime)]
    pub last_use: Timestamp,
    /// End, if there is no further request.
    #[schema(value_type = String, format = DateTime)]
    pub ends: Timestamp,
    /// True for a wall display.
    pub display: bool,
    /// True for the sign-in of the request itself.
    pub this: bool,
}

/// Whether the array is without an administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetupState {
    /// True until there is an administrator.
    pub needed: bool,
}

/// Request to create the first administrator.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupRun {
    /// Code in `STATE_DIR/setup.code`. Not needed on the administrative socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Name of the administrator.
    pub user: String,
    /// Password of the administrator.
    pub password: String,
}

/// A new set-up code.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetupCode {
    /// The code. Earlier ones are not accepted any more.
    pub code: String,
    /// Time from which it is not accepted.
    #[schema(value_type = String, format = DateTime)]
    pub expires: Timestamp,
}

redacted_debug!(SignInStart { user, display } hides { password });
redacted_debug!(SetupRun { user } hides { code, password });
redacted_debug!(SetupCode { expires } hides { code });
