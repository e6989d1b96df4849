//! Notification of alerts: its store, its deliveries, and what the array shows of it.
//!
//! The rules and the delivery are in the crate `notification`. This module keeps their state in
//! `STATE_DIR/management.redb`, so that channels are told also when the pool has stopped. All of it runs on the thread
//! of the management plane.

mod desk;
mod forward;
mod run;
mod shown;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use desk::Desk;
pub(crate) use forward::Forward;
pub(crate) use run::run;
pub(crate) use shown::{alerts, ended};
