//! Counters of the kernel about a process and the loopback interface (Linux, `proc(5)`).

use anyhow::{Context, Result};
use std::time::Duration;

/// Processor time of a process, all threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Time in user mode.
    pub user: Duration,
    /// Time in the kernel on behalf of the process.
    pub system: Duration,
}

impl ProcessorTime {
    /// User and system time together.
    pub fn total(self) -> Duration {
        self.user + self.system
    }
}

/// Processor time that process `pid` has used so far, from `/proc/PID/stat`; the kernel counts in steps of 10 ms.
pub fn processor_time(pid: u32) -> Result<ProcessorTime> {
    let path = format!("/proc/{pid}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    parse_stat(&stat).with_context(|| format!("{path} has an unknown form"))
}

/// Fields 14 and 15 of `/proc/PID/stat`, counted after the parenthesised name because the name may hold anything.
fn parse_stat(stat: &str) -> Option<ProcessorTime> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
    let mut time = || {
        let ticks: u64 = fields.next()?.parse().ok()?;
        Some(Duration::from_nanos(ticks.checked_mul(1_000_000_000)? / ticks_per_second))
    };
    Some(ProcessorTime { user: time()?, system: time()? })
}

/// Memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Resident now, in bytes (`VmRSS`).
    pub resident_bytes: u64,
    /// Most that was ever resident, in bytes (`VmHWM`).
    pub peak_resident_bytes: u64,
    /// Resident pages of files, which are those of the program itself, in bytes (`RssFile`).
    pub program_bytes: u64,
}

/// Memory of process `pid`, from `/proc/PID/status`.
pub fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let number: u64 = line.trim_start_matches(':').trim().strip_suffix("kB")?.trim().parse().ok()?;
        number.checked_mul(1024)
    };
    Ok(Memory {
        resident_bytes: kilobytes("VmRSS").with_context(|| format!("no VmRSS in {path}"))?,
        peak_resident_bytes: kilobytes("VmHWM").with_context(|| format!("no VmHWM in {path}"))?,
        program_bytes: kilobytes("RssFile").with_context(|| format!("no RssFile in {path}"))?,
    })
}

/// Bytes that have crossed the loopback interface so far, with TCP and IP headers, from
/// `/proc/net/dev`. Every packet counts once.
pub fn loopback_bytes() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/net/dev").context("cannot read /proc/net/dev")?;
    parse_loopback(&text).context("/proc/net/dev does not list the loopback interface lo")
}

/// Parses the first number (bytes received) on the line of `lo`.
fn parse_loopback(text: &str) -> Option<u64> {
    let counters = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    counters.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn process_names_with_parentheses_do_not_shift_the_fields() {
        let ticks = rustix::param::clock_ticks_per_second();
        let stat = format!("77 (a) b) (c)) S 1 77 77 0 -1 4194560 1 2 3 4 {} {} 7 8 20 0", ticks, ticks * 2);
        let time = parse_stat(&stat).unwrap();
        assert_eq!(time, ProcessorTime { user: Duration::from_secs(1), system: Duration::from_secs(2) });
        assert_eq!(time.total(), Duration::from_secs(3));
    }

    #[test]
    fn loopback_is_found_among_the_interfaces() {
        let text = "Inter-|   Receive\n face |bytes\n  eth0: 1 2 3\n    lo: 4711 12 0 0\n";
        assert_eq!(parse_loopback(text), Some(4711));
        assert_eq!(parse_loopback("  eth0: 1\n"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.program_bytes > 0 && memory.resident_bytes > memory.program_bytes);
        assert!(memory.resident_bytes > 0 && memory.peak_resident_bytes >= memory.resident_bytes);
    }
}
