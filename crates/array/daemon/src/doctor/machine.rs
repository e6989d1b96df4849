//! The machine: its kernel, limits, files and file systems.

use super::{Evidence, Finding, fail, names, warning};
use crate::state_dir::access_of_others;
use jiff::Timestamp;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use text::terminal::word;

/// Oldest kernel on which the array is tested.
const KERNEL: (u32, u32) = (5, 15);
/// Least number of files that may be open: one a session, and those of the pool and the consoles.
const OPEN_FILES: u64 = 4096;
/// Least space in the state directory, for the audit and what is managed.
const STATE_BYTES: u64 = 64 << 20;
/// As above, at which it becomes little.
const STATE_LITTLE_BYTES: u64 = 512 << 20;
/// Least share of the memory that other programs leave, in percent.
const MEMORY_PERCENT: u64 = 5;

/// Places of the array on its machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Directory of the state.
    pub state_directory: PathBuf,
    /// File or device of the pool.
    pub pool: PathBuf,
    /// Certificate of REST over TLS; absent if it is not configured.
    pub certificate: Option<PathBuf>,
    /// Files that no other user may read.
    pub private: Vec<PathBuf>,
}

/// What is known of the machine. An absent value could not be found out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// Release of the kernel, such as `6.1.0-18-amd64`.
    pub kernel: String,
    pub open_files: Option<u64>,
    /// Bytes of memory that are available, and of all.
    pub memory: Option<(u64, u64)>,
    /// Free bytes of the file system of the state directory.
    pub state_free: Option<u64>,
    pub pool: PoolPlace,
    /// Private files to which other users have access.
    pub accessible: Vec<String>,
    /// True: requests to the pool go through io_uring.
    pub uses_ring: bool,
    /// True: REST over TLS is configured.
    pub serves_https: bool,
    pub certificate_ends: Option<Timestamp>,
}

/// What the pool is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PoolPlace {
    /// Not known.
    #[default]
    Unknown,
    /// A block device.
    Device,
    /// A file, which can take `missing` more bytes from its file system, which has `free`.
    File {
        /// Bytes of its size for which it has no space yet.
        missing: u64,
        /// Free bytes.
        free: u64,
        /// On a file system in memory.
        in_memory: bool,
    },
}

impl Machine {
    /// Looks at the machine. It may wait for disks.
    pub(crate) fn look(places: &Places) -> Self {
        let free = |path: &Path| rustix::fs::statvfs(path).ok().map(|system| system.f_bavail * system.f_frsize);
        let name = |path: &PathBuf| path.display().to_string();
        Self {
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            open_files: Some(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)),
            memory: memory_of_machine(),
            state_free: free(&places.state_directory),
            pool: place_of(&places.pool),
            accessible: places.private.iter().filter(|path| access_of_others(path).is_some()).map(name).collect(),
            uses_ring: has_ring(),
            serves_https: places.certificate.is_some(),
            certificate_ends: places.certificate.as_deref().and_then(crate::certificates::end_of_chain),
        }
    }
}

/// Available and all bytes of memory. A service with `ProcSubset=pid` cannot read `/proc/meminfo`; the same counters
/// stand in `/sys` for each node.
fn memory_of_machine() -> Option<(u64, u64)> {
    let whole = fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory_of(&text));
    whole.or_else(|| {
        let nodes = fs::read_dir("/sys/devices/system/node").ok()?.flatten();
        let texts = nodes.filter_map(|node| fs::read_to_string(node.path().join("meminfo")).ok());
        let of_nodes = texts.filter_map(|text| memory_of_node(&text));
        of_nodes.reduce(|(available, total), (more_available, more)| (available + more_available, total + more))
    })
}

/// The same of one node: free memory, and what the kernel gives back when it is needed.
fn memory_of_node(text: &str) -> Option<(u64, u64)> {
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.split_once(name).map(|(_, value)| value))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    let parts = [" MemFree:", " Active(file):", " Inactive(file):", " SReclaimable:"];
    let available: u64 = parts.iter().filter_map(|part| kib(part)).sum();
    Some((available << 10, kib(" MemTotal:")? << 10))
}

fn memory_of(text: &str) -> Option<(u64, u64)> {
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some((kib("MemAvailable:")? << 10, kib("MemTotal:")? << 10))
}

fn place_of(pool: &Path) -> PoolPlace {
    let (Ok(found), Ok(system)) = (fs::metadata(pool), rustix::fs::statfs(pool)) else { return PoolPlace::Unknown };
    if found.file_type().is_block_device() {
        return PoolPlace::Device;
    }
    let Ok(space) = rustix::fs::statvfs(pool) else { return PoolPlace::Unknown };
    let missing = found.size().saturating_sub(found.blocks() * 512);
    PoolPlace::File { missing, free: space.f_bavail * space.f_frsize, in_memory: system.f_type == TMPFS }
}

/// Type of a file system in memory (`TMPFS_MAGIC`, statfs(2)).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// True if a file of this process is an io_uring.
fn has_ring() -> bool {
    let Ok(files) = fs::read_dir("/proc/self/fd") else { return false };
    let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.as_os_str() == "anon_inode:[io_uring]")
}

pub(super) fn kernel(evidence: &Evidence) -> Result<String, Finding> {
    let release = &evidence.machine.kernel;
    let mut numbers =
        release.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match version >= KERNEL {
        true => Ok(format!("Linux {release}")),
        false => Err(warning(
            format!("Linux {release} is older than {}.{}, on which the array is tested", KERNEL.0, KERNEL.1),
            "install a newer kernel",
        )),
    }
}

pub(super) fn open_files(evidence: &Evidence) -> Result<String, Finding> {
    match evidence.machine.open_files {
        Some(most) if most < OPEN_FILES => Err(warning(
            format!("{most} files may be open, and each session needs one"),
            "raise the limit before the start: LimitNOFILE=65536 in the unit, or in the shell that starts the array",
        )
        .enter("ulimit -n 65536")),
        _ => Ok("enough may be open".to_owned()),
    }
}

pub(super) fn memory(evidence: &Evidence) -> Result<String, Finding> {
    let Some((available, total)) = evidence.machine.memory else {
        return Err(warning("the kernel does not say how much is available", "let the array read /proc/meminfo"));
    };
    let words = format!("{} of {} are available", api::size::format(available), api::size::format(total));
    match available < total / 100 * MEMORY_PERCENT {
        true => Err(warning(words, "end other programs, add memory, or lower [server] memory in the configuration")),
        false => Ok(words),
    }
}

pub(super) fn state_directory(evidence: &Evidence) -> Result<String, Finding> {
    let Some(free) = evidence.machine.state_free else {
        return Err(fail("its file system cannot be looked at", "see the log of the machine"));
    };
    let words = format!("{} are free", api::size::format(free));
    let fix = "free space in the file system of the state directory: without the audit nothing can be changed";
    match free {
        _ if free < STATE_BYTES => Err(fail(words, fix)),
        _ if free < STATE_LITTLE_BYTES => Err(warning(words, fix)),
        _ => Ok(words),
    }
}

pub(super) fn space_below(evidence: &Evidence) -> Result<String, Finding> {
    match evidence.machine.pool {
        PoolPlace::File { in_memory: true, .. } => Err(warning(
            "the pool is in memory: it is gone when the machine restarts",
            "put the pool on a disk: [[pool]] path in the configuration",
        )),
        PoolPlace::File { missing, free, .. } if missing > free => Err(warning(
            format!(
                "the pool is a sparse file and can take {} more, and its file system has {} left",
                api::size::format(missing),
                api::size::format(free)
            ),
            "enlarge the file system, or watch its space: when it is full, nothing new can be stored",
        )),
        PoolPlace::File { missing, .. } => {
            Ok(format!("the file system has room for the {} that the pool can still take", api::size::format(missing)))
        }
        PoolPlace::Device => Ok("the pool is a block device".to_owned()),
        PoolPlace::Unknown => Ok("not known".to_owned()),
    }
}

pub(super) fn private_files(evidence: &Evidence) -> Result<String, Finding> {
    let accessible = &evidence.machine.accessible;
    match accessible.first() {
        Some(_) => Err(warning(
            format!("users other than the array's have access to {}", names(accessible.iter().map(String::as_str))),
            "take the access from them",
        )
        .enter(accessible.iter().fold("chmod go=".to_owned(), |command, path| format!("{command} {}", word(path))))),
        None => Ok("only the array has access to its keys, its tokens and the file of its pool".to_owned()),
    }
}

pub(super) fn input_output(evidence: &Evidence) -> Result<String, Finding> {
    match (evidence.machine.uses_ring, evidence.machine.pool) {
        (true, _) => Ok("the pool is served through io_uring".to_owned()),
        (false, PoolPlace::File { in_memory: true, .. }) => Ok("the pool is in memory".to_owned()),
        (false, _) => Err(warning(
            "the pool is served by threads, which is slower: io_uring is not used",
            "permit io_uring in the kernel (from 6.6 on), or in the container; then restart the array",
        )
        .enter("sysctl kernel.io_uring_disabled=0")),
    }
}

#[cfg(test)]
mod tests {
    use super::memory_of_node;

    /// In the service that packages install, the check of memory knew nothing and was fine.
    #[test]
    fn memory_of_a_node_is_read() {
        let text = "Node 0 MemTotal:       16000 kB\nNode 0 MemFree:         1000 kB\nNode 0 Active(file):     200 kB\nNode 0 Inactive(file):    30 kB\nNode 0 SReclaimable:      4 kB\n";
        assert_eq!(memory_of_node(text), Some((1234 << 10, 16000 << 10)));
        assert_eq!(memory_of_node("Node 0 MemFree: 1 kB\n"), None);
    }
}
