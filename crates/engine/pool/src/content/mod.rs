//! Content of blocks in memory, and the buffers of requests.

pub(crate) mod blocks;
mod cache;
pub(crate) mod data;
pub(crate) mod stock;
