//! The kit against a small target on loopback, correct or with a known fault: a test that cannot
//! fail proves nothing.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod kit;
mod race;
mod session;
