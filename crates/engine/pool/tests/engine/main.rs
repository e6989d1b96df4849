//! The engine as a black box on a simulated disk; one test binary, because each would link its own
//! copy of the engine.
#![expect(clippy::unwrap_used, reason = "tests")]

mod address_space;
mod after;
mod allotments;
mod captures;
mod ceilings;
mod clones;
mod common;
mod differences;
mod documents;
mod integrity;
mod locks;
mod looks;
mod objects;
mod offered_space;
mod patches;
mod planned_space;
mod replicas;
mod reservations;
mod reshare;
mod transactions;
mod unique;
mod wide;
mod working_reserve;
