//! A user.

use crate::password::PasswordHash;
use crate::role::Role;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// User, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// Identity.
    pub id: Uuid,
    /// Unique name; its case does not count.
    pub name: String,
    /// Role of the user.
    pub role: Role,
    /// True: the user cannot sign in.
    pub locked: bool,
    /// Hash of the password.
    pub password: PasswordHash,
    /// True: the user may only change the password.
    pub must_change: bool,
    /// Time of creation.
    pub created: Timestamp,
    /// Time of the last sign-in.
    pub last_sign_in: Option<Timestamp>,
}
