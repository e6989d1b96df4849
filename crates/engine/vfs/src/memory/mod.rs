//! Parts of a file system in memory: blocks that files share, the content of files, and directories.
#![expect(dead_code, reason = "the file system that consists of them follows")]

mod blocks;
mod files;
mod lies;
mod ranges;
mod state;
