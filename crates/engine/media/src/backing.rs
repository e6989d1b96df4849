//! File or block device under a [`FileDisk`](crate::FileDisk): opening, locking, size, and blocking
//! transfers, which the engines without io_uring use. Memory file systems are recognised here,
//! because RAM needs neither direct I/O nor flushes.

use std::fs::File;
use std::io::{IoSlice, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use thiserror::Error;

use crate::disk::block_length;
use crate::growth::GrowthError;
use crate::{BLOCK_BYTES, Buffer, Completion, Done, MediaError, Ticket};

/// Reason why a file or device could not be opened as a disk. Nothing was changed, except that a
/// missing file may have been created.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file does not exist, and may not be created.
    #[error("{path}: no such file or device")]
    NotFound {
        /// Path as given.
        path: String,
    },
    /// Another process holds the lock.
    #[error("{path} is in use by another process: stop it first, or use another path")]
    InUse {
        /// Path as given.
        path: String,
    },
    /// The kernel uses the block device, or a process has claimed it.
    #[error("{path} is in use: it is mounted, part of another device, or opened by another process")]
    Busy {
        /// Path as given.
        path: String,
    },
    /// The path is a directory, socket, character device or the like.
    #[error("{path} is neither a regular file nor a block device")]
    NotADisk {
        /// Path as given.
        path: String,
    },
    /// The device's sectors are larger than a block of the pool.
    #[error("{path} has sectors of {sector_bytes} bytes; at most {BLOCK_BYTES} are supported")]
    SectorSize {
        /// Path as given.
        path: String,
        /// Logical sector size of the device.
        sector_bytes: u32,
    },
    /// A member of the pool cannot be used: it is missing, foreign, in another member's place, or
    /// truncated; or `path` itself is a further member, not the first.
    #[error("{path}: the pool also needs {member}: {reason}")]
    Member {
        /// Path as given.
        path: String,
        /// Number and path of the member.
        member: String,
        /// Defect of the member.
        reason: String,
    },
    /// The operating system refused.
    #[error("{path}: {operation} failed: {reason}")]
    System {
        /// Path as given.
        path: String,
        /// Operation that failed.
        operation: &'static str,
        /// Error of the operating system.
        reason: std::io::Error,
    },
}

/// Longest wait for the lock; the interval between attempts follows.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Operation of a request.
pub(crate) enum Operation {
    Read { block: u64, buffer: Buffer },
    Write { block: u64, buffer: Buffer, durable: bool },
    Flush,
    Discard { block: u64, blocks: u64 },
}

/// Validated request on its way to an engine.
pub(crate) struct Request {
    pub(crate) ticket: Ticket,
    pub(crate) operation: Operation,
}

impl Operation {
    /// Error of this operation for `reason`.
    pub(crate) fn error(&self, reason: &std::io::Error) -> MediaError {
        let (operation, address, blocks) = match self {
            Self::Read { block, buffer } => ("read", *block, block_length(buffer)),
            Self::Write { block, buffer, .. } => ("write", *block, block_length(buffer)),
            Self::Flush => ("flush", 0, 0),
            Self::Discard { block, blocks } => ("discard", *block, *blocks),
        };
        match reason.raw_os_error() {
            Some(code) if code == Errno::NOSPC.raw_os_error() => MediaError::NoSpace { operation, address, blocks },
            _ => MediaError::Io { operation, address, blocks, reason: reason.to_string() },
        }
    }

    /// Number of bytes to transfer.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Read { buffer, .. } | Self::Write { buffer, .. } => buffer.len(),
            Self::Flush | Self::Discard { .. } => 0,
        }
    }

    /// Result of this operation on success.
    pub(crate) fn done(self) -> Done {
        match self {
            Self::Read { buffer, .. } => Done::Read(buffer),
            Self::Write { buffer, .. } => Done::Written(Some(buffer)),
            Self::Flush | Self::Discard { .. } => Done::Written(None),
        }
    }
}

/// Byte offset of a block. Does not overflow, because the block lies on a device whose size in
/// bytes fits 64 bits.
pub(crate) const fn byte_offset(block: u64) -> u64 {
    block * BLOCK_BYTES as u64
}

/// Open, locked file or block device.
pub(crate) struct BackingFile {
    file: File,
    block_device: bool,
    memory: bool,
    direct: bool,
    read_only: bool,
    created: bool,
    path: PathBuf,
    /// Size in blocks; it never decreases.
    block_count: AtomicU64,
}

impl BackingFile {
    /// Opens and locks `path`. With `create_bytes`, a missing or empty file becomes a sparse file
    /// of that size.
    pub(crate) fn open(
        path: &Path,
        create_bytes: Option<u64>,
        direct: bool,
        read_only: bool,
        patient: bool,
    ) -> Result<Self, OpenError> {
        let shown = || path.display().to_string();
        let failed = |operation| move |reason: std::io::Error| OpenError::System { path: shown(), operation, reason };
        let mut block_device = false;
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(metadata) if metadata.file_type().is_block_device() => block_device = true,
            Ok(_) => return Err(OpenError::NotADisk { path: shown() }),
            Err(reason) if reason.kind() == std::io::ErrorKind::NotFound => {
                if create_bytes.is_none() || read_only {
                    return Err(OpenError::NotFound { path: shown() });
                }
            }
            Err(reason) => return Err(failed("looking up the file")(reason)),
        }
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(!read_only).mode(0o600);
        if block_device {
            // Without O_CREAT, O_EXCL claims the device: it fails while the device is mounted or
            // part of another one.
            options.custom_flags(OFlags::EXCL.bits().cast_signed());
        } else {
            options.create(create_bytes.is_some() && !read_only);
        }
        let busy = |reason: &std::io::Error| reason.raw_os_error() == Some(Errno::BUSY.raw_os_error());
        let mut file =
            retry_claim(patient, || options.open(path), busy).map_err(|reason| match reason.raw_os_error() {
                Some(code) if code == Errno::BUSY.raw_os_error() => OpenError::Busy { path: shown() },
                _ => failed("opening")(reason),
            })?;
        let lock = || rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        match retry_claim(patient, lock, |reason| matches!(*reason, Errno::WOULDBLOCK | Errno::INTR)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(OpenError::InUse { path: shown() }),
            Err(reason) => return Err(failed("locking")(reason.into())),
        }
        let mut bytes = file.seek(SeekFrom::End(0)).map_err(failed("finding the size"))?;
        let mut created = false;
        if let (0, false, false, Some(create_bytes)) = (bytes, block_device, read_only, create_bytes) {
            file.set_len(create_bytes).map_err(failed("setting the size"))?;
            file.sync_all().map_err(failed("writing the new file"))?;
            sync_folder(path).map_err(failed("writing the folder of the new file"))?;
            bytes = create_bytes;
            created = true;
        }
        if block_device {
            let sector_bytes = rustix::fs::ioctl_blksszget(&file)
                .map_err(|reason| failed("finding the sector size")(reason.into()))?;
            if usize::try_from(sector_bytes).is_ok_and(|sector_bytes| sector_bytes > BLOCK_BYTES) {
                return Err(OpenError::SectorSize { path: shown(), sector_bytes });
            }
        }
        let memory = !block_device
            && on_memory_file_system(&file)
                .map_err(|reason| failed("finding the file system's type")(reason.into()))?;
        let direct = direct
            && !memory
            && enable_direct_io(&file).map_err(|reason| failed("enabling direct I/O")(reason.into()))?;
        let block_count = AtomicU64::new(bytes / BLOCK_BYTES as u64);
        Ok(Self { file, block_device, memory, direct, read_only, created, path: path.to_owned(), block_count })
    }

    pub(crate) fn raw_descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub(crate) fn block_device(&self) -> bool {
        self.block_device
    }

    /// Whether the file is on tmpfs or ramfs: its content does not survive the machine, and no call
    /// blocks.
    pub(crate) fn memory(&self) -> bool {
        self.memory
    }

    pub(crate) fn direct(&self) -> bool {
        self.direct
    }

    pub(crate) fn read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn created(&self) -> bool {
        self.created
    }

    pub(crate) fn block_count(&self) -> u64 {
        self.block_count.load(Ordering::Relaxed)
    }

    /// Extends a file durably to at least `blocks` blocks, or checks that the device has grown that
    /// far. The last block of a file, which the pool does not use yet, is written with zeros: a
    /// superblock copy gets its place there, which must not fail for lack of space.
    pub(crate) fn grow(&self, blocks: u64) -> Result<(), GrowthError> {
        let path = || self.path.display().to_string();
        let failed = |operation| move |reason: std::io::Error| GrowthError::System { path: path(), operation, reason };
        let bytes = (&self.file).seek(SeekFrom::End(0)).map_err(failed("finding the size"))?;
        let needed_bytes = byte_offset(blocks);
        if bytes < needed_bytes && self.block_device {
            return Err(GrowthError::DeviceNotGrown { path: path(), bytes, needed_bytes });
        }
        if !self.block_device {
            if bytes < needed_bytes {
                self.file.set_len(needed_bytes).map_err(failed("setting the size"))?;
            }
            if let Err(reason) = self.write(byte_offset(blocks.saturating_sub(1)), &Buffer::zeroed(1), false) {
                // Nothing uses the new end yet. A file that stays longer does no harm.
                let _ = self.file.set_len(bytes);
                return Err(failed("allocating its new last block")(reason));
            }
            self.file.sync_all().map_err(|reason| GrowthError::FlushFailed { path: path(), reason })?;
        }
        self.block_count.store(bytes.max(needed_bytes) / BLOCK_BYTES as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Executes the request on this thread.
    pub(crate) fn execute(&self, request: Request) -> Completion {
        let Request { ticket, mut operation } = request;
        let outcome = match &mut operation {
            Operation::Read { block, buffer } => self.read(byte_offset(*block), buffer),
            Operation::Write { block, buffer, durable } => self.write(byte_offset(*block), buffer, *durable),
            Operation::Flush => self.flush(),
            Operation::Discard { block, blocks } => self.discard(byte_offset(*block), byte_offset(*blocks)),
        };
        let result = match outcome {
            Ok(()) => Ok(operation.done()),
            Err(reason) => Err(operation.error(&reason)),
        };
        Completion { ticket, result }
    }

    pub(crate) fn read(&self, mut offset: u64, mut buffer: &mut [u8]) -> std::io::Result<()> {
        while !buffer.is_empty() {
            match rustix::io::pread(&self.file, &mut *buffer, offset) {
                Ok(0) => return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
                Ok(count) => {
                    buffer = buffer.get_mut(count..).unwrap_or_default();
                    offset += u64::try_from(count).unwrap_or_default();
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(reason) => return Err(reason.into()),
            }
        }
        Ok(())
    }

    pub(crate) fn write(&self, mut offset: u64, mut buffer: &[u8], durable: bool) -> std::io::Result<()> {
        let mut flags = match durable && !self.memory {
            true => ReadWriteFlags::DSYNC,
            false => ReadWriteFlags::empty(),
        };
        let mut flush_after = false;
        while !buffer.is_empty() {
            let written = match flags.is_empty() {
                true => rustix::io::pwrite(&self.file, buffer, offset),
                false => rustix::io::pwritev2(&self.file, &[IoSlice::new(buffer)], offset, flags),
            };
            match written {
                Ok(0) => return Err(std::io::Error::from(std::io::ErrorKind::WriteZero)),
                Ok(count) => {
                    buffer = buffer.get(count..).unwrap_or_default();
                    offset += u64::try_from(count).unwrap_or_default();
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                // Kernel or file system without RWF_DSYNC: write, then flush; as durable, but
                // slower.
                Err(Errno::NOSYS | Errno::OPNOTSUPP) if !flags.is_empty() => {
                    flags = ReadWriteFlags::empty();
                    flush_after = true;
                }
                Err(reason) => return Err(reason.into()),
            }
        }
        if flush_after { self.flush() } else { Ok(()) }
    }

    pub(crate) fn flush(&self) -> std::io::Result<()> {
        if self.memory {
            return Ok(());
        }
        loop {
            match rustix::fs::fdatasync(&self.file) {
                Err(Errno::INTR) => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    fn discard(&self, offset: u64, length: u64) -> std::io::Result<()> {
        loop {
            let outcome = match self.block_device {
                true => discard_device(self.file.as_fd(), offset, length),
                false => {
                    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    rustix::fs::fallocate(&self.file, punch, offset, length)
                }
            };
            match outcome {
                Err(Errno::INTR) => {}
                // Discard is advisory: a device or file system without it keeps the content, which
                // is permitted.
                Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOTTY) => return Ok(()),
                Err(reason) => return Err(reason.into()),
            }
        }
    }

    /// Error if the file was truncated while it was open: the data beyond its end is lost.
    pub(crate) fn truncation_error(&self) -> Option<MediaError> {
        if self.block_device {
            return None;
        }
        let blocks = self.file.metadata().ok()?.len() / BLOCK_BYTES as u64;
        let needed = self.block_count();
        (blocks < needed).then(|| MediaError::Io {
            operation: "flush",
            address: blocks,
            blocks: needed - blocks,
            reason: format!("{} was truncated while in use: the data beyond its end is lost", self.path.display()),
        })
    }

    /// First block from `block` on that has been written to, in a file. `None` when there is none,
    /// or when it cannot be determined.
    pub(crate) fn written_from(&self, block: u64) -> Option<u64> {
        let data = self.seek_data(block).ok()?;
        (!self.block_device).then_some(data / BLOCK_BYTES as u64)
    }

    /// Byte offset of the first data in the file from `block` on.
    fn seek_data(&self, block: u64) -> Result<u64, Errno> {
        rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(byte_offset(block)))
    }

    /// Whether every one of these blocks of a file has been written to. False when it cannot be
    /// determined.
    pub(crate) fn is_filled(&self, block: u64, blocks: u64) -> bool {
        // Without support for holes, a file system finds none anywhere: `Data` fails there.
        let hole = || rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Hole(byte_offset(block)));
        self.seek_data(block) == Ok(byte_offset(block)) && hole().is_ok_and(|hole| hole >= byte_offset(block + blocks))
    }

    /// Whether nothing has ever been written to these blocks of a file. False when it cannot be
    /// determined.
    pub(crate) fn is_hole(&self, block: u64, blocks: u64) -> bool {
        match self.seek_data(block) {
            Ok(data) => data >= byte_offset(block + blocks),
            Err(reason) => reason == Errno::NXIO,
        }
    }
}

/// Tries to claim a file or device; with `patient` it retries for a while if it is `taken`. The
/// kernel releases the claim of a killed process only after it has taken down the io_uring, some
/// time after the process is gone.
fn retry_claim<T, E>(patient: bool, claim: impl Fn() -> Result<T, E>, taken: impl Fn(&E) -> bool) -> Result<T, E> {
    let started = Instant::now();
    loop {
        match claim() {
            Err(reason) if patient && taken(&reason) && started.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_INTERVAL)
            }
            outcome => return outcome,
        }
    }
}

/// Syncs the folder of `path`, which makes a new directory entry durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = match path.canonicalize()?.parent() {
        Some(folder) => PathBuf::from(folder),
        None => return Ok(()),
    };
    File::open(folder)?.sync_all()
}

fn on_memory_file_system(file: &File) -> rustix::io::Result<bool> {
    const TMPFS_MAGIC: i64 = 0x0102_1994;
    const RAMFS_MAGIC: i64 = 0x8584_58f6;
    let kind = i128::from(rustix::fs::fstatfs(file)?.f_type);
    Ok(kind == i128::from(TMPFS_MAGIC) || kind == i128::from(RAMFS_MAGIC))
}

/// Turns on direct I/O; false when the file system does not support it.
fn enable_direct_io(file: &File) -> rustix::io::Result<bool> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    match rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL) => Ok(false),
        Err(reason) => Err(reason),
    }
}

/// `BLKDISCARD` of `linux/fs.h`: offset and length in bytes.
#[expect(unsafe_code, reason = "the discard of a block device is reached by ioctl only")]
fn discard_device(device: BorrowedFd<'_>, offset: u64, length: u64) -> rustix::io::Result<()> {
    const BLKDISCARD: rustix::ioctl::Opcode = rustix::ioctl::opcode::none(0x12, 119);
    // SAFETY: BLKDISCARD reads two 64-bit numbers through the given pointer. `Setter` passes a
    // pointer to this array, which lives until the call returns.
    unsafe {
        let range = rustix::ioctl::Setter::<BLKDISCARD, [u64; 2]>::new([offset, length]);
        rustix::ioctl::ioctl(device, range)
    }
}
