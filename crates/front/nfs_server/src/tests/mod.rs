//! Black-box tests: compounds in bytes, over the file system in memory.

mod abandoned;
mod attributes;
mod calls;
mod compound;
mod content;
mod copies;
mod copy_jobs;
mod directories;
mod garbage;
mod handles;
mod kit;
mod locks;
mod names;
mod opens;
mod sessions;
mod statistics;
mod unnamed;
mod xattrs;
