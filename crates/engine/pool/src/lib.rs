//! Thin pool: radix-tree maps with shared sub-trees, lazily propagated reference counts, a
//! write-ahead log, checkpoints and recovery by replay.
//!
//! [`Core`] is the engine: deterministic, single-threaded, without a clock or I/O of its own. The
//! crate knows no protocol.
#![forbid(unsafe_code)]

mod catalog;
mod checksum;
mod clock;
mod content;
mod core;
mod geometry;
mod handle;
mod index;
mod interface;
mod log;
mod map;
mod medium;
#[cfg_attr(not(feature = "mutations"), expect(dead_code, reason = "names rules that only the simulator leaves out"))]
mod mutations;
mod request;
mod schedule;
mod space;
mod transaction;
mod volume;

pub use crate::core::offline::check::{CheckOptions, CheckProgress};
pub use crate::core::offline::dump::{Shown, show_log, show_root};
pub use crate::core::offline::rebuild::{RepairError, RepairReport};
pub use crate::core::recovery::{Opened, initial_root};
pub use crate::core::{Core, Counters, DataCache, TurnWork};
pub use handle::{Difference, NewCapture, Pool};
pub use interface::check::CheckReport;
pub use interface::difference::{ChangedBlock, ChangedContent, ChangedRun, DifferenceId, DifferenceStep, SharedTree};
pub use interface::operation::{
    ADDRESS_SPACE_BYTES, CEILING_UNIT_BYTES, CopyOutcome, Failure, MAX_CEILING_BYTES, MAX_DOCUMENT_BYTES,
    MAX_VOLUME_BYTES, MAX_WRITE_BYTES, Operation, OperationId, Options, Output, Reshare, TransactionMark,
};
pub use interface::range::{BlockNumber, BlockRange, ByteRange};
pub use interface::*;
#[cfg(feature = "mutations")]
pub use mutations::{Mutation, fail_allocation, leave_out, stop_in_submit};
pub use transaction::{Answer, BlockContent, Missing, Outcome, Room, Segment, Stability, Transaction, View};
pub use volume::Volume;
