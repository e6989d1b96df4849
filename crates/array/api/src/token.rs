//! Tokens: the credentials of programs.

use crate::Role;
use crate::redacted::redacted_debug;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Limits of a token, in addition to its role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenScopes {
    /// Pattern of names, such as `csi-*`: only these volumes, their snapshots and grants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<String>,
    /// Networks from which the token is accepted, such as `10.0.0.0/24`; empty: any. At most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    /// Only `/metrics`. Excludes `volumes`.
    #[serde(default)]
    pub metrics_only: bool,
}

/// A token. Its secret is returned once, when it is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Identity.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// First characters of the secret; empty for the token in `admin.token`.
    pub prefix: String,
    /// Role.
    pub role: Role,
    /// Limits.
    pub scopes: TokenScopes,
    /// User, token or process that created it.
    pub created_by: String,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Time from which it is not accepted; `null`: never.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires: Option<Timestamp>,
    /// Time of the last use, to the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used: Option<Timestamp>,
    /// Address of the last use.
    pub last_from: Option<String>,
}

/// Request to create a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenCreate {
    /// Unique name.
    pub name: String,
    /// Role.
    pub role: Role,
    /// Limits.
    #[serde(default)]
    pub scopes: TokenScopes,
    /// Time from which it is not accepted; omitted: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires: Option<Timestamp>,
}

/// A new token with its secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenCreated {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// Its secret, for `Authorization: Bearer`. It is not shown again.
    pub secret: String,
}

redacted_debug!(TokenCreated { token } hides { secret });
