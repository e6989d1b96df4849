//! Tests of the operations, by group. All go through the public interface.

mod administration;
mod clients;
mod grace;
mod kit;
mod leases;
mod locks;
mod model;
mod offload;
mod opens;
mod replay_model;
mod sessions;
mod steps;
