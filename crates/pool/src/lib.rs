//! The thin pool: radix-tree maps with shared sub-trees, lazily propagated reference counts, a write-ahead log, checkpoints and
//! recovery by replay.
#![forbid(unsafe_code)]

mod interface;
pub use interface::*;
