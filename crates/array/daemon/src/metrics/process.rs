//! Metrics of this process, by the names that Prometheus has for them.

use super::family::{counter_seconds, gauge, row, seconds};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;

/// Use of the system at one instant; what the system does not tell is absent.
#[derive(Debug)]
pub(super) struct Process {
    processor_us: u64,
    resident_bytes: Option<u64>,
    open_descriptors: Option<u64>,
}

impl Process {
    /// Present use.
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let (whole, nanoseconds) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
        Self {
            processor_us: whole.saturating_mul(1_000_000).saturating_add(nanoseconds / 1000),
            resident_bytes: resident_bytes(),
            // The directory is one of them while it is read.
            open_descriptors: std::fs::read_dir("/proc/self/fd").ok().map(|all| (all.count() as u64).saturating_sub(1)),
        }
    }
}

/// Resident memory, by proc_pid_statm(5).
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let encoder = &mut encoder;
        let help = "Processor time of the process";
        counter_seconds(encoder, "process_cpu_seconds", help, row(seconds(self.processor_us)))?;
        let resident = self.resident_bytes.map(row).unwrap_or_default();
        gauge(encoder, "process_resident_memory_bytes", "Resident memory", resident)?;
        let open = self.open_descriptors.map(row).unwrap_or_default();
        gauge(encoder, "process_open_fds", "Open file descriptors", open)
    }
}
