//! Users: the people who sign in, and what they may do.

use crate::redacted::redacted_debug;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Role of a user or token. Each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads everything but users, tokens, sign-ins and the audit.
    Viewer,
    /// Changes volumes, shares, snapshots, hosts and access, and runs jobs.
    Operator,
    /// Everything.
    Admin,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Account {
    /// Identity.
    pub id: Uuid,
    /// Unique name; its case does not count.
    pub name: String,
    /// Role of the user.
    pub role: Role,
    /// True: the user cannot sign in.
    pub locked: bool,
    /// True: the user may only change the password.
    pub must_change: bool,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Time of the last sign-in.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_sign_in: Option<Timestamp>,
}

/// Request to create a user.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountCreate {
    /// Unique name: letters, digits, `.`, `_`, `-` and `@`; its case does not count.
    pub name: String,
    /// Role of the user.
    pub role: Role,
    /// First password: at least 12 characters, none of the most common ones, without the name.
    pub password: String,
    /// The user has to change the password at first. Default: true.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub must_change: bool,
}

fn yes() -> bool {
    true
}

/// Request to change a user. Omitted fields stay unchanged. With another role, and with a lock, all
/// sign-ins of the user end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountSet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// True: lock the user; false: unlock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
}

/// Request to change a password. All sign-ins of the user end.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordSet {
    /// New password.
    pub password: String,
    /// Present password; needed to change one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present_password: Option<String>,
}

redacted_debug!(AccountCreate { name, role, must_change } hides { password });
redacted_debug!(PasswordSet {} hides { password, present_password });
