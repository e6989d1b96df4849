//! Tests of shares over a pool on a simulated disk.

mod contract;
mod engine;
mod rig;
mod simulation;
mod whole;
