//! Envelope of every list, and the parameters to read a list in parts, in an order, and filtered.

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
    /// Number of resources in all parts; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Revision of the array's records that the list includes. Each change of a record raises it; it
    /// begins anew when the array starts. Absent for a list that does not come from these records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

impl<T> List<T> {
    /// A list that always has a single part.
    pub fn whole(items: Vec<T>) -> Self {
        let total = u64::try_from(items.len()).ok();
        Self { items, next: None, total, revision: None }
    }
}

/// Part of a list that has its own order only. Resources that are created or deleted between two
/// parts neither repeat nor hide others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Maximum number of resources, 1 to 10 000; default: as many as are possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<u32>,
    /// Start of the part, as in `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Part of a list. Resources that are created or deleted between two parts neither repeat nor hide
/// others, whatever the order. One whose sort key changes meanwhile may be in both parts or in none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Maximum number of resources, 1 to 10 000; default: 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<u32>,
    /// Start of the part, as in `next`. Excludes `offset`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Number of resources before the part, to jump in a list. Resources that are created or
    /// deleted meanwhile move others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// One or two sort keys, separated by a comma; `-` before a key makes it descend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// Only resources with this text in one of their names or addresses, whatever its case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
}

impl ListQuery {
    /// Names of its parameters. All others belong to the filter of a list.
    pub const PARAMETERS: [&'static str; 5] = ["limit", "after", "offset", "sort", "q"];
}

/// Filter of a list that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NoFilter {}
