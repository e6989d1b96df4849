//! Checks and their results.

use std::fmt;

use thiserror::Error;

use super::bench::Bench;
use crate::commands::CommandError;
use crate::initiator::SessionError;

/// A check: one question to a target, with the answer that the standard requires.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Unique number that never changes: from 1 to 176, and from 200 on.
    pub number: u16,
    /// Name: group and file, such as `compare_and_write/miscompare`.
    pub name: &'static str,
    /// Section of the standard that requires the answer.
    pub section: &'static str,
    /// Question, as one sentence.
    pub asks: &'static str,
    /// Requirements of the check.
    pub needs: &'static [Need],
    /// Function that asks and compares the answer.
    pub run: fn(&mut Bench<'_>) -> Verdict,
}

/// Defines `CHECK` of a file: `asks` is its doc comment, `name` its path, and `run` the function of
/// its file.
macro_rules! check {
    ($(#[doc = $asks:literal])+ $number:literal, $section:literal, needs: [$($need:ident),*]) => {
        pub(super) const CHECK: Check = {
            const PATH: &str = module_path!();
            const NAME: [u8; super::super::check::name_length(PATH)] = super::super::check::name(PATH);
            Check {
                number: $number,
                name: super::super::check::text(&NAME),
                section: $section,
                asks: super::super::check::text(concat!($($asks),+).as_bytes()),
                needs: &[$(Need::$need),*],
                run,
            }
        };
    };
}
pub(super) use check;

/// Start of the name in the path of a check's module: group and file are its last two parts.
#[expect(clippy::indexing_slicing, reason = "at compile time, where a panic is an error of the compiler")]
const fn name_start(path: &[u8]) -> usize {
    let (mut at, mut parts) = (path.len(), 0);
    while at > 0 {
        at -= 1;
        if path[at] == b':' {
            parts += 1;
            if parts == 3 {
                return at + 1;
            }
        }
    }
    0
}

/// Length of the name in bytes: its one `::` becomes `/`.
pub(super) const fn name_length(path: &str) -> usize {
    path.len() - name_start(path.as_bytes()) - 1
}

/// The name of a check, from the path of its module.
#[expect(clippy::indexing_slicing, reason = "at compile time, where a panic is an error of the compiler")]
pub(super) const fn name<const N: usize>(path: &str) -> [u8; N] {
    let path = path.as_bytes();
    let mut name = [0; N];
    let (mut from, mut to) = (name_start(path), 0);
    while to < N {
        if path[from] == b':' {
            name[to] = b'/';
            from += 2;
        } else {
            name[to] = path[from];
            from += 1;
        }
        to += 1;
    }
    name
}

/// Text of a doc comment without the blank at its beginning.
pub(super) const fn text(bytes: &[u8]) -> &str {
    let bytes = match bytes {
        [b' ', rest @ ..] => rest,
        all => all,
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("no UTF-8"),
    }
}

/// Requirement that may not be met.
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
}

impl Need {
    /// Reason for skipping a check without this requirement.
    pub fn missing(self) -> &'static str {
        match self {
            Self::Writes => "the check writes, and --destroy-data is not given",
            Self::SecondPortal => "no --second-portal",
            Self::SecondUnit => "no --second-lun",
            Self::Hook => "no --hook for the actions of an administrator",
        }
    }
}

/// Result of a check: passed, or the reason why not.
pub type Verdict = Result<(), NotPassed>;

/// Reason why a check did not pass.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NotPassed {
    /// The target's answer is wrong; states the expected and the found value.
    #[error("{0}")]
    Failed(String),
    /// The check cannot be run here.
    #[error("{0}")]
    Skipped(String),
}

impl From<SessionError> for NotPassed {
    fn from(error: SessionError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<CommandError> for NotPassed {
    fn from(error: CommandError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Fails the check.
pub fn failed<T>(reason: impl Into<String>) -> Result<T, NotPassed> {
    Err(NotPassed::Failed(reason.into()))
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
