//! The engine from outside, on a simulated disk; one program, because each would hold an engine of its own.
#![expect(clippy::unwrap_used, reason = "tests")]

mod captures;
mod clones;
mod common;
mod integrity;
mod reservations;
mod structure;
mod unique;
mod working_reserve;
