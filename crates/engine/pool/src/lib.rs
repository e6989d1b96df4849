//! The thin pool: radix-tree maps with shared sub-trees, lazily propagated reference counts, a write-ahead log, checkpoints and
//! recovery by replay.
//!
//! [`Core`] is the engine: deterministic, single-threaded, without clock or I/O of its own. Nothing here knows a protocol.
#![forbid(unsafe_code)]

mod admission;
mod assign;
mod blocks;
mod catalog;
mod check;
mod checkpoint;
mod completion;
mod core;
mod device;
mod discard;
mod dump;
mod execute;
mod frame;
mod grow;
mod interface;
#[cfg(test)]
mod large_tests;
mod layout;
mod log;
mod lost;
#[cfg_attr(not(feature = "mutations"), expect(dead_code, reason = "names rules that only the simulator leaves out"))]
mod mutations;
mod object;
mod online_check;
mod operation;
mod pace;
mod page;
mod read;
mod rebuild;
mod record;
mod recovery;
mod root;
mod scan;
mod space;
mod starved;
mod step;
mod stock;
mod stream;
mod tree;
mod walk;

pub use crate::core::{Core, Counters};
pub use check::{CheckOptions, CheckProgress, CheckReport};
pub use device::{Pool, Volume};
pub use dump::{Shown, show_log, show_root};
pub use interface::*;
#[cfg(feature = "mutations")]
pub use mutations::{Mutation, fail_allocation, set_mutation};
pub use operation::{
    Failure, MAX_DOCUMENT_BYTES, MAX_VOLUME_BYTES, MAX_WRITE_BYTES, Operation, OperationId, Options, Output,
};
pub use rebuild::{RepairError, RepairReport};
pub use recovery::{Opened, initial_root};
