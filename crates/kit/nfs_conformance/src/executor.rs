//! Futures of connections, for checks that wait.

use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// Runs the futures of connections. Their drivers work while a check waits for something.
#[derive(Debug)]
pub struct Executor {
    runtime: Runtime,
    local: LocalSet,
}

impl Executor {
    /// Executor of this thread.
    pub fn new() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, local: LocalSet::new() })
    }

    /// Waits for a future.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        self.local.block_on(&self.runtime, future)
    }

    /// Lets a time pass in which connections are served.
    pub fn pause(&self, time: Duration) {
        self.wait(async { tokio::time::sleep(time).await });
    }
}
