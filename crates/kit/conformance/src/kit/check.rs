//! Checks and their results.

pub use verdict::{NotPassed, Verdict, expect, expect_bytes, expect_equal, failed, hex, skipped};

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
            const NAME: [u8; verdict::path::length(PATH)] = verdict::path::name(PATH);
            Check {
                number: $number,
                name: verdict::path::text(&NAME),
                section: $section,
                asks: verdict::path::text(concat!($($asks),+).as_bytes()),
                needs: &[$(Need::$need),*],
                run,
            }
        };
    };
}
pub(super) use check;

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
