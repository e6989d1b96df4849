//! Signals that ask a program to end.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handler of SIGINT and SIGTERM. While it exists, these signals do not end the program.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Installs the handler. Requires a tokio runtime.
    pub fn watch() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
