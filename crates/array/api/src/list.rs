//! Envelope of every list, and the parameters to read a list in parts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A list of resources, sorted by name unless the operation says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct List<T> {
    /// The resources.
    pub items: Vec<T>,
}
