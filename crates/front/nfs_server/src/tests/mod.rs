//! Black-box tests: compounds in bytes, over the file system in memory.

mod compound;
mod kit;
