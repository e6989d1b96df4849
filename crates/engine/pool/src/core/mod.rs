//! The pool in use: one single-threaded, deterministic state machine.
//!
//! Callers [`submit`](Core::submit) operations and take results with
//! [`poll_finished`](Core::poll_finished). [`pump`](Core::pump) advances everything: completions of
//! the medium, operations that waited for them, log frames, destaging, checkpoints, reclaim. It does
//! a bounded amount of work, a turn, and [`wants_turn`](Core::wants_turn) tells whether more is
//! left. There is no clock, thread or lock here. An operation is planned first: if map pages, counts or data
//! have to be read, it waits without having changed anything. Then it is executed in one step, so
//! every operation takes effect at one instant.
//!
//! `state` holds the parts, which are folders of their own beside this one and know nothing of it.
//! Steps use the parts through the state, and of each other only what stands further left:
//!
//! ```text
//! io, turn, … ← state ← waiting ← admission ← operation ← scan ← checkpoint, reclaim, … ← completion ← pump
//!    ← lent, recovery ← offline
//! ```
//!
//! What scans and checkpoints remember between their steps is part of the state (`progress`, and the
//! types that `state` takes from `scan` and `checkpoint`).

mod admission;
mod checkpoint;
mod completion;
mod damage;
mod discard;
mod full_below;
mod grow;
mod growing;
mod incidents;
mod io;
#[cfg(test)]
mod large_tests;
mod lent;
pub(crate) mod offline;
mod operation;
mod parked;
mod progress;
mod pump;
mod reclaim;
pub(crate) mod recovery;
mod scan;
mod state;
mod turn;
#[cfg(test)]
mod turn_tests;
mod waiting;

pub(crate) use lent::Begun;
pub(crate) use operation::look_and_read::Reading;
pub use state::{Core, Counters, DataCache};
pub use turn::TurnWork;

/// Bytes of a block.
const B: u64 = media::BLOCK_BYTES as u64;
/// Logical blocks in a block.
const LBAS_PER_BLOCK: u64 = B / block::LOGICAL_BLOCK_BYTES as u64;
