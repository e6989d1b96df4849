//! Tags of objects, and those that a change expects.

use jiff::Timestamp;
use uuid::Uuid;

/// Tag of an object that was changed last at `revision`.
pub(crate) fn tag(started: Timestamp, revision: u64) -> String {
    format!("{:x}-{revision}", started.as_millisecond())
}

/// Object that a change expects to have one of these tags.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub id: Uuid,
    pub tags: Vec<String>,
}

impl Expected {
    /// True if the object has an expected tag.
    pub fn is_met(&self, tag: Option<&String>) -> bool {
        tag.is_some_and(|tag| self.tags.contains(tag))
    }
}
