//! Search, and what the array can do.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Text to search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Text in a name, identifier or address, whatever its case; 1 to 256 characters.
    pub q: String,
}

/// Object that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Found {
    /// `volume`, `snapshot`, `share`, `host`, `host-group`, `qos-policy` or `job`.
    pub kind: String,
    /// Name by which requests find it; of a job, its id.
    pub name: String,
    /// Name, identifier or address with the text.
    pub matched: String,
}

/// Capabilities of this array. An absent field is a capability that it does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Capabilities {
    /// Version of the program.
    pub version: String,
    /// The array serves shares over NFS.
    #[serde(default)]
    pub shares: bool,
    /// Series of values of the last minutes (`/api/v1/history`).
    #[serde(default)]
    pub history: bool,
    /// Live streams (`/api/v1/live`).
    #[serde(default)]
    pub live: bool,
    /// Conditional changes (`If-Match`).
    #[serde(default)]
    pub revisions: bool,
    /// QoS policies (`/api/v1/qos-policies`).
    #[serde(default)]
    pub qos: bool,
}
