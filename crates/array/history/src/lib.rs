//! History of an array: averages and maxima of series in three resolutions, and counters that go on
//! over restarts. One file holds both. It may be deleted at any time.
//!
//! A [`Store`] takes an [`Observation`] about once a second. Each of its *entities* (the array, a
//! primitive, a volume) has named values. Observations of one step of a [`Tier`] become a row; rows
//! become pages of 128 steps, by column. The place of a row follows from its time alone, and a row that
//! meets an earlier one at its place is merged with it by weight. So a clock that was set back, a
//! restart within a step and a repeated step lose nothing.
//!
//! The age of a page is the time of recording since its last change ([`Store::lifetime_seconds`]), not
//! a difference of times of day. So a clock that jumps forward makes nothing old.
//!
//! The crate knows no name of an entity or value, and has no thread and no clock: its owner calls
//! [`Store::flush`] once a minute.

#![forbid(unsafe_code)]

mod class;
mod counters;
mod footprint;
mod gather;
mod page;
mod query;
mod store;
#[cfg(test)]
mod tests;
mod tier;

pub use class::{Class, Kind};
pub use counters::{CounterSums, Counters};
pub use gather::{MAX_NAME_BYTES, Observation, Observed, Value};
pub use query::{Query, Series, Values};
pub use store::{Error, Flushed, Store};
pub use tier::Tier;
