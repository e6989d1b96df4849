//! Texts for people: sizes as they are written and read, and foreign text that is safe to show on a terminal or to paste into a shell.
#![forbid(unsafe_code)]

pub mod size;
pub mod terminal;
