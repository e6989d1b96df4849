//! What the kernel says of the machine and of this process. Files of `/proc` that do not belong to a process are not
//! readable in a service with `ProcSubset=pid`, so system calls answer for them.

use rustix::system::{sysinfo, uname};

/// Files of this process.
const FILES: [(&str, &str); 2] =
    [("machine/limits.txt", "/proc/self/limits"), ("machine/process.txt", "/proc/self/status")];
/// Fractional bits of the loads of `sysinfo(2)` (`SI_LOAD_SHIFT`).
const LOAD_SHIFT: u32 = 16;

/// Name of the machine.
pub(super) fn name() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

/// Texts by file: version of the kernel, memory and load, and what the kernel says of this process.
pub(super) fn texts() -> Vec<(&'static str, String)> {
    let mut texts = vec![("machine/version.txt", version()), ("machine/system.txt", system())];
    texts.extend(FILES.iter().filter_map(|(name, path)| Some((*name, std::fs::read_to_string(path).ok()?))));
    texts
}

/// Files that cannot be read, with the reason.
pub(super) fn unread() -> Vec<(&'static str, String)> {
    let reason = |path: &str| std::fs::read_to_string(path).err().map(|error| error.to_string());
    FILES.iter().filter_map(|(name, path)| Some((*name, reason(path)?))).collect()
}

fn version() -> String {
    let of = uname();
    let parts = [of.sysname(), of.nodename(), of.release(), of.version(), of.machine()];
    parts.map(|part| part.to_string_lossy().into_owned()).join(" ") + "\n"
}

fn system() -> String {
    let of = sysinfo();
    let bytes = |units: u64| units * u64::from(of.mem_unit);
    let load = |load: u64| {
        format!("{:.2}", f64::from(u32::try_from(load).unwrap_or(u32::MAX)) / f64::from(1_u32 << LOAD_SHIFT))
    };
    let lines = [
        ("uptime_seconds", of.uptime.to_string()),
        ("load_average", of.loads.map(load).join(" ")),
        ("processes", of.procs.to_string()),
        ("memory_bytes", bytes(of.totalram).to_string()),
        ("memory_free_bytes", bytes(of.freeram).to_string()),
        ("memory_shared_bytes", bytes(of.sharedram).to_string()),
        ("memory_buffer_bytes", bytes(of.bufferram).to_string()),
        ("swap_bytes", bytes(of.totalswap).to_string()),
        ("swap_free_bytes", bytes(of.freeswap).to_string()),
    ];
    lines.map(|(name, value)| format!("{name} {value}\n")).concat()
}
