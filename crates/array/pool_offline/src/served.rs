//! Superblock copies and root of a pool while a daemon serves it, for diagnosis.
//!
//! The file or device is read through a descriptor of its own, without the lock and without recovery:
//! nothing of the pool is opened a second time. The daemon replaces copies meanwhile, so a copy may be
//! read half old and half new; what is not intact is read again.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use media::{
    BLOCK_BYTES, Buffer, Capabilities, Completion, Disk, Done, FoundCopy, LocalMedia, MediaError, OpenError, Ticket,
};
use pool::PoolError;
use serde_json::Value;

use crate::dump::{copy, value};
use crate::{CheckError, Dump};

/// Largest number of readings until all copies are intact.
const READINGS: usize = 5;
/// Time between two readings.
const INTERVAL: Duration = Duration::from_millis(50);

/// Structures of a served pool, as `windlass pool dump` shows them.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedDump {
    /// The four superblock copies.
    pub superblock: Dump,
    /// The newest root of an intact copy.
    pub root: Dump,
}

/// Reads the structures of the pool in `path`: its file or device, the first one if it has several. Blocks for
/// a fraction of a second, and for as long as the medium takes. Errors: the file cannot be read, or no copy
/// is intact.
pub fn dump_served(path: &Path) -> Result<ServedDump, CheckError> {
    let mut disk = ReadOnlyDisk::open(path)?;
    let mut copies = LocalMedia::find_copies(&mut disk);
    for _ in 1..READINGS {
        if copies.iter().all(|copy| copy.fields.is_some() || copy.block >= disk.blocks) {
            break;
        }
        thread::sleep(INTERVAL);
        copies = LocalMedia::find_copies(&mut disk);
    }
    let name = || path.display().to_string();
    let newest = copies.iter().filter_map(|copy| copy.fields.as_ref()).max_by_key(|fields| fields.root_version);
    let Some(newest) = newest else {
        let states: Vec<&str> = copies.iter().map(|copy| copy.state.as_str()).collect();
        return Err(CheckError::NoPool { path: name(), reason: MediaError::BadRoot(states.join("; ")) });
    };
    let root = pool::show_root(&newest.root)
        .map_err(|reason| CheckError::Interrupted { path: name(), reason: PoolError::Damaged(reason) })?;
    let shown = |found: &FoundCopy| {
        let mut shown = copy(found);
        if found.block >= disk.blocks {
            shown["state"] = "on a further file or device of the pool, which was not read".into();
        }
        shown
    };
    Ok(ServedDump { superblock: Dump(Value::Array(copies.iter().map(shown).collect())), root: Dump(value(root)) })
}

/// A file or device that is read and never written.
struct ReadOnlyDisk {
    file: File,
    blocks: u64,
    ready: Vec<Completion>,
}

impl ReadOnlyDisk {
    fn open(path: &Path) -> Result<Self, OpenError> {
        let name = || path.display().to_string();
        let failed = |operation| {
            move |reason: std::io::Error| match reason.kind() {
                ErrorKind::NotFound => OpenError::NotFound { path: path.display().to_string() },
                _ => OpenError::System { path: path.display().to_string(), operation, reason },
            }
        };
        // Before it is opened: opening a pipe would wait for a writer.
        let kind = std::fs::metadata(path).map_err(failed("reading the attributes"))?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(OpenError::NotADisk { path: name() });
        }
        let mut file = File::open(path).map_err(failed("opening"))?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(failed("reading the size"))?;
        Ok(Self { file, blocks: bytes / BLOCK_BYTES as u64, ready: Vec::new() })
    }

    fn complete(&mut self, ticket: Ticket, result: Result<Done, MediaError>) {
        self.ready.push(Completion { ticket, result });
    }

    fn refuse(&mut self, ticket: Ticket, operation: &'static str, address: u64, blocks: u64) {
        let reason = "the pool is only read".to_owned();
        self.complete(ticket, Err(MediaError::Io { operation, address, blocks, reason }));
    }
}

impl Disk for ReadOnlyDisk {
    fn block_count(&self) -> u64 {
        self.blocks
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { torn_writes: true, needs_flush: true, max_request_bytes: BLOCK_BYTES, immediate: true }
    }

    fn read_only(&self) -> bool {
        true
    }

    fn read(&mut self, ticket: Ticket, block: u64, mut buffer: Buffer) {
        let blocks = u64::try_from(buffer.blocks()).unwrap_or(u64::MAX);
        let read = match block.checked_mul(BLOCK_BYTES as u64) {
            Some(offset) => self.file.read_exact_at(&mut buffer, offset),
            None => Err(ErrorKind::UnexpectedEof.into()),
        };
        let failed = |reason: std::io::Error| MediaError::Io {
            operation: "read",
            address: block,
            blocks,
            reason: reason.to_string(),
        };
        self.complete(ticket, read.map(|()| Done::Read(buffer)).map_err(failed));
    }

    fn write(&mut self, ticket: Ticket, block: u64, buffer: Buffer, _durable: bool) {
        self.refuse(ticket, "write", block, u64::try_from(buffer.blocks()).unwrap_or(u64::MAX));
    }

    fn has_room(&mut self, _block: u64, _blocks: u64) -> bool {
        false
    }

    fn flush(&mut self, ticket: Ticket) {
        self.refuse(ticket, "flush", 0, 0);
    }

    fn discard(&mut self, ticket: Ticket, block: u64, blocks: u64) {
        self.refuse(ticket, "discard", block, blocks);
    }

    fn submit(&mut self) {}

    fn poll(&mut self) -> Option<Completion> {
        self.ready.pop()
    }

    fn wait(&mut self) {}

    fn outstanding(&self) -> usize {
        self.ready.len()
    }
}
