//! Several verifying loads at once, each with a session and regions of its own.

use super::Interruption;
use anyhow::{Context, Result, anyhow, ensure};
use conformance::url::Url;
use conformance::verifying_load::{LoadError, LoadOptions, VerifyingLoad};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Loads.
const WRITERS: u32 = 3;
/// Blocks of the region of each load on each logical unit: 4 MiB.
const BLOCKS: u32 = 8_192;
/// Blocks of each logical unit that are written.
pub(super) const ALL_BLOCKS: u32 = WRITERS * BLOCKS;
/// Time for one command; emulation on a busy machine is slow.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// Time for reading everything, and for the end of a load.
const STEP_LIMIT: Duration = Duration::from_secs(300);

type Outcome = (VerifyingLoad, Result<(), LoadError>);

/// Loads that rest.
pub(super) struct Writers {
    loads: Vec<VerifyingLoad>,
    interruption: Interruption,
}

/// Loads that run.
pub(super) struct Running {
    threads: Vec<JoinHandle<Outcome>>,
    stop: Arc<AtomicBool>,
    interruption: Interruption,
}

impl Writers {
    /// Loads on these logical units.
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

    /// Logs in and compares every block with what was acknowledged.
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

    /// Connections lost by each load so far.
    pub(super) fn outages(&self) -> Vec<u64> {
        self.loads.iter().map(|load| load.report().outages).collect()
    }

    /// What each load did.
    pub(super) fn reports(&self) -> impl Iterator<Item = String> {
        self.loads.iter().map(|load| load.report().to_string())
    }
}

impl Running {
    /// True when a load has ended, which it must not by itself.
    pub(super) fn ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Ends the loads; the first error is the result.
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
