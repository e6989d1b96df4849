//! The reactor's side of `control`: passes changes of `control` to the running target, and state of
//! the target through `control` to the pool.

pub(super) mod live;
mod port_groups;
pub(super) mod reservations;
pub(super) mod sanitize;
mod thresholds;
pub(super) mod unit_store;
