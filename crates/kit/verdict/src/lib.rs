//! Verdicts and reports that the conformance kits have in common, whatever the protocol.
//!
//! * [`Verdict`]: result of a check's function, with the expectations that produce it.
//! * [`Report`]: results of a run as a table, as JSON, and as JUnit's XML.
//! * [`path`]: name and question of a check from the place and the comment of its code.
#![forbid(unsafe_code)]

mod expect;
pub mod path;
mod report;

pub use expect::{NotPassed, Verdict, differs, expect, expect_bytes, expect_equal, failed, hex, skipped};
pub use report::{Outcome, Report, Row};
