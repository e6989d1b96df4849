//! Envelope of every list, and the parameters to read a list in parts.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A list of resources, sorted by name unless the operation says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct List<T> {
    /// The resources.
    pub items: Vec<T>,
    /// Path and query of the next part; absent at the end of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Part of a list. Resources that are created or deleted between two parts neither repeat nor hide
/// others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Maximum number of resources, 1 to 10 000; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Start of the part, as in `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}
