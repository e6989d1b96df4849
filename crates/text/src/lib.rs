//! Text for users: sizes and durations in readable form, columns, and foreign text made safe for a
//! terminal or a shell.
#![forbid(unsafe_code)]

pub mod columns;
pub mod duration;
pub mod size;
pub mod terminal;
