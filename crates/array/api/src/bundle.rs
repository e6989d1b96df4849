//! Support bundles: what the array knows of itself, in one file for those who help.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Names in a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BundleNames {
    /// Names, initiators and addresses as they are.
    #[default]
    Real,
    /// Stable words in their place, everywhere: the same name is the same word in every bundle of the array.
    Replaced,
}

/// Request to make a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleCreate {
    /// Names in it.
    #[serde(default)]
    #[schema(inline)]
    pub names: BundleNames,
    /// Hours of events, of the audit and of the history that it has, 1 to 168; default: 24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 168)]
    pub hours: Option<u16>,
}

/// Support bundle: a tar archive, compressed by gzip, of at most 64 MiB. Three are kept, for a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bundle {
    /// Id.
    pub id: Uuid,
    /// Time.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Size.
    pub size_bytes: u64,
    /// Names in it.
    pub names: BundleNames,
}

/// File in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BundleFile {
    /// Name.
    pub name: String,
    /// Size.
    pub size_bytes: u64,
}
