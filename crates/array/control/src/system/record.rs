//! Document of the array.

use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Identity of the array, created at its first start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayRecord {
    /// Random id; part of every designator.
    pub id: Uuid,
    /// Creation time.
    pub created: Timestamp,
}

impl Document for ArrayRecord {
    const PREFIX: &'static str = "array";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}
