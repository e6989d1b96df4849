//! On-disk structures: a valid pool, created once; changes to it with correct checksums; and
//! operations on the result.

mod base;
pub(crate) mod image;
pub(crate) mod log;
pub(crate) mod superblock;
mod use_pool;
