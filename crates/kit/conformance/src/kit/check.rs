//! What a check is and how it ends.

use std::fmt;

use thiserror::Error;

use super::bench::Bench;
use crate::commands::CommandError;
use crate::initiator::SessionError;

/// One question to a target, with the answer that the standard wants.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Number, unique; without gaps up to 187, which the facts sheet numbers, and from 200 on.
    pub number: u16,
    /// Name: group and file, such as `compare_and_write/miscompare`.
    pub name: &'static str,
    /// Section of the standard that the expected answer comes from.
    pub section: &'static str,
    /// What is asked, in one sentence.
    pub asks: &'static str,
    /// What has to be there.
    pub needs: &'static [Need],
    /// Asks, and compares the answer.
    pub run: fn(&mut Bench<'_>) -> Verdict,
}

/// What a check needs and may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The content of the logical units may be destroyed.
    Writes,
    /// A second portal of the same target.
    SecondPortal,
    /// A second logical unit.
    SecondUnit,
    /// A program that acts as the administrator of the array.
    Hook,
    /// NVMe over TCP in the target and in the kit.
    Nvme,
}

impl Need {
    /// Why a check that needs this is skipped.
    pub fn missing(self) -> &'static str {
        match self {
            Self::Writes => "it writes, and --destroy-data is not given",
            Self::SecondPortal => "no --second-portal",
            Self::SecondUnit => "no --second-lun",
            Self::Hook => "no --hook for what only an administrator can do",
            Self::Nvme => "NVMe/TCP is not built",
        }
    }
}

/// How a check went: passed, or the trouble.
pub type Verdict = Result<(), Trouble>;

/// Why a check did not pass.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Trouble {
    /// The target answers wrong; expected and found.
    #[error("{0}")]
    Failed(String),
    /// The check cannot be made here.
    #[error("{0}")]
    Skipped(String),
}

impl From<SessionError> for Trouble {
    fn from(error: SessionError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<CommandError> for Trouble {
    fn from(error: CommandError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A trouble of the first kind.
pub fn failed<T>(reason: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Failed(reason.into()))
}

/// A trouble of the second kind.
pub fn skipped<T>(reason: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Skipped(reason.into()))
}

/// Fails with what was found unless it is what was expected.
pub fn expect_equal<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Verdict {
    if found == expected { Ok(()) } else { failed(format!("{what}: expected {expected:?}, found {found:?}")) }
}

/// Fails with the words unless the condition holds.
pub fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { failed(otherwise()) }
}

/// Compares bytes; on a difference the first sixteen that differ are shown.
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

/// Bytes as pairs of hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
