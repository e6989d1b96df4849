//! Operations in progress: how far each one is, and what it waits for.

pub(crate) mod step;
