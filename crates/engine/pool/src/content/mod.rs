//! Content of blocks in memory, and the buffers of requests.

pub(crate) mod blocks;
pub(crate) mod cache;
pub(crate) mod data;
pub(crate) mod stock;
