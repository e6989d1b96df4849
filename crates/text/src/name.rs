//! The rule for names of volumes, shares, snapshots, hosts, host groups and schedules.

use uuid::Uuid;

/// Longest name in bytes.
pub const MAX_BYTES: usize = 63;

/// Reason for which a text is no name: 1 to 63 letters, digits, `.`, `_` and `-`, the first a letter or digit. Texts
/// in the form of an id are refused. Absent: it is one.
pub fn fault(name: &str) -> Option<&'static str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > MAX_BYTES {
        Some("it is longer than 63 characters")
    } else if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Some("it does not start with a letter or digit")
    } else if !name.chars().all(is_allowed) {
        Some("only letters, digits, '.', '_' and '-' are allowed")
    } else if Uuid::try_parse(name).is_ok() {
        Some("it looks like an id")
    } else {
        None
    }
}

/// Reason for which a text is no name of a host: as [`fault`], and the word for every host.
pub fn host_fault(name: &str) -> Option<&'static str> {
    fault(name).or((name == "any").then_some("'any' stands for every host"))
}
