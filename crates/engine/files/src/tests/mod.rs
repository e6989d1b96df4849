//! Tests of whole shares over the engine in memory.

mod check;
mod concurrency;
mod contract;
mod damage;
mod depth;
mod directories;
mod full;
mod large_read;
mod long_clone;
mod share;
mod simulation;
mod whole;

use crate::engine::Engine;
use crate::testing::MemoryEngine;
use crate::{Files, Root};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

pub(crate) const ROOT_ATTRIBUTES: Root = Root { mode: 0o755, user: 0, group: 0, born: ZERO };
const ZERO: vfs::Timestamp = match vfs::Timestamp::new(0, 0) {
    Some(zero) => zero,
    None => panic!("0 is a time"),
};

/// Polls a call until it returns.
pub(crate) fn end<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

/// Opens a new share.
pub(crate) fn new_share(engine: &MemoryEngine) -> Files<MemoryEngine> {
    Files::open(engine.clone(), engine.create(), ROOT_ATTRIBUTES, false)
}

/// Opens a share again, as after a restart.
pub(crate) fn reopened<E: Engine>(engine: &E, files: &Files<E>) -> Files<E> {
    let read_only = vfs::FileSystem::read_only(files);
    Files::open(engine.clone(), files.object(), ROOT_ATTRIBUTES, read_only)
}
