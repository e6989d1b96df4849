//! Files and directories of a share, kept in one wide object of the pool: a [`vfs::FileSystem`] over the
//! transactions of an [`Engine`].
//!
//! A share is an object of 2⁴⁸ blocks. Its address space is divided into regions by size (`layout::address`);
//! the content of a file, the nodes of a directory, a long target and extended attributes are regions. So a
//! clone of a file is a range clone of the engine, a deletion a range of zeros, and a snapshot of a share a
//! snapshot of its object. An object without content is an empty share.
//!
//! Each changing call is one transaction, so one unit of recovery. An attempt (`share::Share`) looks at blocks and
//! names changes; it runs again whenever a block is not in memory, and has no other effect. What a share keeps in
//! memory (`memory::Memory`) changes when the transaction has taken place.
//!
//! This crate knows no protocol and no medium.
#![forbid(unsafe_code)]

mod attributes;
mod check;
mod content;
mod engine;
mod file_system;
mod halt;
mod layout;
mod memory;
mod names;
mod regions;
mod roll_back;
mod share;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod tree;
mod xattrs;

pub use check::{Finding, Problem};
pub use engine::{
    Attempt, BLOCK_BYTES, Block, Durability, Engine, EngineError, Missing, Named, Object, Outcome, Room, View,
};
pub use file_system::{Files, WholeSource};
pub use memory::Root;
