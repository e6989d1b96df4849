//! Concurrent verifying loads, each with its own session and regions.

use super::Interruption;
use anyhow::{Context, Result, anyhow, ensure};
use conformance::url::Url;
use loads::verifying_load::{LoadError, LoadOptions, VerifyingLoad};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Number of loads.
const WRITERS: u32 = 3;
/// Blocks of the region of each load on each logical unit: 4 MiB.
const BLOCKS: u32 = 8_192;
/// Blocks of each logical unit that are written.
pub(super) const ALL_BLOCKS: u32 = WRITERS * BLOCKS;
/// Time limit of one command; emulation on a busy machine is slow.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// Time limit of reading everything, and of stopping a load.
const STEP_LIMIT: Duration = Duration::from_secs(300);

type Outcome = (VerifyingLoad, Result<(), LoadError>);

/// Loads that are stopped.
pub(super) struct Writers {
    loads: Vec<VerifyingLoad>,
    interruption: Interruption,
}

/// Loads that are running.
pub(super) struct Running {
    threads: Vec<JoinHandle<Outcome>>,
    stop: Arc<AtomicBool>,
    interruption: Interruption,
}

impl Writers {
    /// Creates loads on these logical units.
    pub(super) fn new(urls: &[Url], seed: u64, interruption: Interruption) -> Result<Self> {
        let loads = (0..WRITERS).map(|writer| {
            VerifyingLoad::new(LoadOptions {
                first_lba: u64::from(writer * BLOCKS),
                blocks: BLOCKS,
                max_extent_blocks: 2048,
                depth: 8,
                seed: seed.wrapping_mul(u64::from(WRITERS)).wrapping_add(u64::from(writer)),
                initiator_name: format!("iqn.2026-01.org.example:power-cut-writer-{writer}"),
                timeout: COMMAND_LIMIT,
                outage: COMMAND_LIMIT,
                ..LoadOptions::new(urls.to_vec())
            })
        });
        Ok(Self { loads: loads.collect::<Result<_, _>>()?, interruption })
    }

    /// Logs in and compares every block with the acknowledged writes.
    pub(super) fn verify(self) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(true));
        self.spawn(stop, |load, _| load.verify_all()).join()
    }

    /// Starts writing.
    pub(super) fn start(self) -> Running {
        self.spawn(Arc::new(AtomicBool::new(false)), |load, stop| load.run(stop))
    }

    fn spawn(
        self,
        stop: Arc<AtomicBool>,
        work: fn(&mut VerifyingLoad, &AtomicBool) -> Result<(), LoadError>,
    ) -> Running {
        let spawn = |mut load: VerifyingLoad| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let result = work(&mut load, &stop);
                (load, result)
            })
        };
        let threads = self.loads.into_iter().map(spawn).collect();
        Running { threads, stop, interruption: self.interruption }
    }

    /// Number of connections that each load has lost.
    pub(super) fn outages(&self) -> Vec<u64> {
        self.loads.iter().map(|load| load.report().outages).collect()
    }

    /// Report of each load.
    pub(super) fn reports(&self) -> impl Iterator<Item = String> {
        self.loads.iter().map(|load| load.report().to_string())
    }
}

impl Running {
    /// Whether a load has ended, which must not happen by itself.
    pub(super) fn ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops the loads; fails with their first error.
    pub(super) fn stop(self) -> Result<Writers> {
        self.stop.store(true, Ordering::Relaxed);
        self.join()
    }

    fn join(self) -> Result<Writers> {
        let started = Instant::now();
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            self.interruption.check()?;
            ensure!(started.elapsed() < STEP_LIMIT, "a load did not end within {} s", STEP_LIMIT.as_secs());
            thread::sleep(Duration::from_millis(2));
        }
        let mut loads = Vec::new();
        for (thread, writer) in self.threads.into_iter().zip(0..) {
            let (load, result) = thread.join().map_err(|_| anyhow!("a load panicked"))?;
            result.with_context(|| format!("writer {writer} after: {}", load.report()))?;
            loads.push(load);
        }
        Ok(Writers { loads, interruption: self.interruption })
    }
}
