//! Content of blocks in memory, and the buffers that requests use.

pub(crate) mod blocks;
pub(crate) mod stock;
