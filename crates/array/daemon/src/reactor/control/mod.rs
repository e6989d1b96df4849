//! The reactor's side of `control`: what `control` changes reaches the running target, and what the target keeps in the pool
//! goes through `control`.

pub(super) mod live;
mod port_groups;
pub(super) mod reservations;
pub(super) mod sanitize;
mod thresholds;
pub(super) mod unit_store;
