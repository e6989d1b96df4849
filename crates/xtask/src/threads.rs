//! Threads of the array under test.

use clap::Args;

/// Threads of the array under test.
#[derive(Args, Clone, Debug)]
pub(crate) struct Threads {
    /// Threads of the array; with more than 1, every connection moves to one of them after its login.
    #[arg(long, default_value_t = 1)]
    threads: u8,
}

impl Threads {
    /// One thread, which is what CI runs first.
    pub(crate) fn one() -> Self {
        Self { threads: 1 }
    }

    /// Arguments of `windlass serve`.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let threads = self.threads.to_string();
        ["--threads", &threads, "--placement", "spread"].map(str::to_owned).to_vec()
    }
}
