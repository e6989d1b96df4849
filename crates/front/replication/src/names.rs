//! Names and ids of groups, members and points.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;
use uuid::Uuid;

/// Longest name, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// Identity of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArrayId(pub Uuid);

/// Identity of a group, the same at both arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub Uuid);

/// Identity of a member of a group, the same at both arrays. It is not the id of a volume of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(pub Uuid);

/// Reason why a text is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// Empty, or longer than [`MAX_NAME_BYTES`].
    #[error("a name has 1 to {MAX_NAME_BYTES} bytes, and this one {bytes}")]
    Length {
        /// Bytes of the text.
        bytes: usize,
    },
    /// It has a control character.
    #[error("a name has no control characters")]
    ControlCharacter,
}

/// Name from an array: 1 to 255 bytes without control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        if !(1..=MAX_NAME_BYTES).contains(&text.len()) {
            return Err(NameError::Length { bytes: text.len() });
        }
        match text.chars().any(char::is_control) {
            true => Err(NameError::ControlCharacter),
            false => Ok(Self(text)),
        }
    }
}

impl TryFrom<&str> for Name {
    type Error = NameError;

    fn try_from(text: &str) -> Result<Self, NameError> {
        Self::try_from(text.to_owned())
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

/// Identity of a recovery point. Later points of a group are greater.
///
/// Epoch and cycle could be used twice by an array whose state was set back behind this protocol (an image of its
/// pool restored). The mark keeps the points of such an array apart from those that its peer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PointId {
    /// Epoch of the group, which each change of the owner raises.
    pub epoch: u64,
    /// Cycle in the epoch.
    pub cycle: u64,
    /// Random number, drawn with the point.
    pub mark: u64,
}

impl fmt::Display for PointId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}.{:016x}", self.epoch, self.cycle, self.mark)
    }
}

/// Recovery point: snapshots of all members, of one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Identity, the same at both arrays.
    pub id: PointId,
    /// Name, the same at both arrays.
    pub name: Name,
    /// Time at the source, in milliseconds since 1970. For people: no rule reads it.
    pub taken_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_a_peer_are_short_and_printable() {
        assert_eq!(Name::try_from("").err(), Some(NameError::Length { bytes: 0 }));
        assert_eq!(Name::try_from("x".repeat(256)).err(), Some(NameError::Length { bytes: 256 }));
        assert_eq!(Name::try_from("a\u{1b}[2J").err(), Some(NameError::ControlCharacter));
        assert!(Name::try_from("x".repeat(255)).is_ok() && Name::try_from("Datenbank Süd").is_ok());
        assert!(serde_json::from_str::<Name>("\"a\\u0007\"").is_err());
    }
}
