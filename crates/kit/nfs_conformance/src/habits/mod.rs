//! What clients in use send, and need: sequences of Linux and ESXi.

mod attributes_of_stat;
mod session_of_linux;
mod several_connections;

use crate::check::Check;

pub(super) const CHECKS: &[&Check] =
    &[&attributes_of_stat::CHECK, &session_of_linux::CHECK, &several_connections::CHECK];
