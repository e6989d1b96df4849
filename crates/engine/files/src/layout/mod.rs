//! On-disk layouts, as pure functions of bytes: where things are, and how they are stored. All numbers are
//! little-endian.

pub(crate) mod address;
pub(crate) mod inode;
pub(crate) mod interior;
pub(crate) mod leaf;
pub(crate) mod nodes;
pub(crate) mod super_block;
pub(crate) mod xattrs;
