//! The envelope of every list, so that paging can be added without breaking a client.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A list of resources, in the order of their names unless the operation says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct List<T> {
    /// The resources.
    pub items: Vec<T>,
}
