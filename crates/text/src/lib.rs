//! Text for users: sizes and durations in readable form, columns, foreign text made safe for a
//! terminal or a shell, and the rule for names.
#![forbid(unsafe_code)]

pub mod columns;
pub mod duration;
pub mod name;
pub mod size;
pub mod terminal;
