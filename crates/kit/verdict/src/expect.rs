//! Verdicts, and expectations whose failures state the expected and the found value.

use std::fmt;

use thiserror::Error;

/// Result of a check: passed, or the reason why not.
pub type Verdict = Result<(), NotPassed>;

/// Reason why a check did not pass.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotPassed {
    /// The target's answer is wrong; states the expected and the found value.
    #[error("{0}")]
    Failed(String),
    /// The answer is one that the standard permits, and not the one that is asked for.
    #[error("{0}")]
    Differs(String),
    /// The check cannot be run here.
    #[error("{0}")]
    Skipped(String),
}

/// Fails the check.
pub fn failed<T>(reason: impl Into<String>) -> Result<T, NotPassed> {
    Err(NotPassed::Failed(reason.into()))
}

/// States a difference that the standard permits.
pub fn differs<T>(reason: impl Into<String>) -> Result<T, NotPassed> {
    Err(NotPassed::Differs(reason.into()))
}

/// Skips the check.
pub fn skipped<T>(reason: impl Into<String>) -> Result<T, NotPassed> {
    Err(NotPassed::Skipped(reason.into()))
}

/// Fails unless `found` equals `expected`.
pub fn expect_equal<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Verdict {
    if found == expected { Ok(()) } else { failed(format!("{what}: expected {expected:?}, found {found:?}")) }
}

/// Fails with the words of `otherwise` unless the condition holds.
pub fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { failed(otherwise()) }
}

/// Compares bytes; a failure shows sixteen bytes from the first difference on.
pub fn expect_bytes(what: &str, found: &[u8], expected: &[u8]) -> Verdict {
    if found == expected {
        return Ok(());
    }
    if found.len() != expected.len() {
        return failed(format!("{what}: expected {} bytes, found {}", expected.len(), found.len()));
    }
    let at = found.iter().zip(expected).position(|(found, expected)| found != expected).unwrap_or(0);
    let piece = |bytes: &[u8]| hex(bytes.get(at..bytes.len().min(at + 16)).unwrap_or_default());
    failed(format!("{what}: at byte {at} expected {}, found {}", piece(expected), piece(found)))
}

/// Formats bytes as pairs of hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
