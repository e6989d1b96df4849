//! Warnings: consequences of a completed change that need attention.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Warning about a completed change, in the reply to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// Stable name of the condition, such as `pool-full`.
    pub code: String,
    /// Text for people.
    pub message: String,
}
