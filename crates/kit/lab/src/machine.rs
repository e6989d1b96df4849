//! The machine on which the hosts run.

use crate::results::Machine;
use std::fs;
use std::time::Duration;

/// Describes the machine; unknown fields stay empty.
pub(crate) fn machine() -> Machine {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let kibibytes = value(&read("/proc/meminfo"), "MemTotal");
    let kibibytes = kibibytes.split_ascii_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    let system = [read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease")];
    Machine {
        processors: std::thread::available_parallelism()
            .map_or(0, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        processor: value(&read("/proc/cpuinfo"), "model name"),
        memory_bytes: kibibytes.unwrap_or(0) * 1024,
        system: system.map(|word| word.trim().to_owned()).join(" ").trim().to_owned(),
    }
}

/// Processor time of this process so far, user and system, in all threads: the cost of the hosts.
pub(crate) fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanoseconds)
}
