//! What stands on the disk: a good pool, made once; changes of it under right checksums; and what is then done with it.

mod base;
pub(crate) mod image;
pub(crate) mod log;
pub(crate) mod superblock;
mod use_pool;
