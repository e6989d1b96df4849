//! Loads against a target on loopback, correct or with a known fault: a test that cannot fail
//! proves nothing.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod disturbance;
mod sanitize_race;
mod verifying_load;
