//! Processor time of the threads that serve hosts. Each thread notes its own; the metrics and the
//! placement of connections read all.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};

/// Most threads that serve hosts.
pub const MAX_THREADS: u8 = 8;

/// Processor time of each thread in nanoseconds; the first is the reactor's.
#[derive(Debug, Default)]
pub struct Loads([AtomicU64; MAX_THREADS as usize]);

impl Loads {
    /// Notes the processor time of the calling thread, which has this number.
    pub fn note(&self, number: usize) {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
        if let Some(thread) = self.0.get(number) {
            thread.store(seconds * 1_000_000_000 + nanoseconds, Ordering::Relaxed);
        }
    }

    /// Processor time that all threads have noted last, in nanoseconds.
    pub fn all_ns(&self) -> u64 {
        self.0.iter().map(|thread| thread.load(Ordering::Relaxed)).fold(0, u64::saturating_add)
    }

    /// Processor time that a thread has noted last, in nanoseconds. 0: there is no such thread.
    pub fn processor_ns(&self, number: usize) -> u64 {
        self.0.get(number).map_or(0, |thread| thread.load(Ordering::Relaxed))
    }
}
