//! Black-box tests: compounds in bytes, over the file system in memory.

mod attributes;
mod calls;
mod compound;
mod directories;
mod handles;
mod kit;
mod names;
