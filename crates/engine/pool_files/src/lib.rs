//! Shares in a pool: the [`files::Engine`] over transactions of a [`pool::Pool`]. A share is an object of
//! [`pool::ADDRESS_SPACE_BYTES`] bytes, which administration creates, clones and deletes like any other.
//!
//! This crate translates: what an attempt of `files` looks at and names goes to the view of an attempt of the pool, and
//! reasons for failure come back. It keeps no state of a share.
#![forbid(unsafe_code)]

mod capture;
mod engine;
mod failure;
mod payload;
#[cfg(test)]
mod tests;
mod view;

pub use capture::{Captured, capture_file};
pub use engine::PoolEngine;

/// Share in a pool.
pub type PoolFiles<M> = files::Files<PoolEngine<M>>;
