//! Tests of the whole array as a process, with a real pool and real sessions.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod administration;
mod below_full;
mod connect;
mod disk;
mod fixture;
mod full_pool;
mod host_kit;
mod integrity;
mod lab;
mod lab_on_array;
mod live_access;
mod login_flood;
mod long_commands;
mod management_plane;
mod memory_of_peers;
mod migrate;
mod missing_pool;
mod multipath;
mod persistent_reservations;
mod release_0_1;
mod reshare;
mod sanitize;
mod space;
mod tokens;
mod unwritable_log;
mod whole_units;
