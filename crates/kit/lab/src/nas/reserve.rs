//! `nas-reserve`: thick disks on a file server. Off, the host reserves space by writing zeros; on,
//! fallocate does: lazy (allocated blocks that read as zeros) and eager (FALLOC_FL_ZERO_RANGE).
//! Then a file system is filled, and the reserved space must be writable to the last byte.
//!
//! Only a small file system, created for tests, is filled: the directory's own if its size is at
//! most [`SMALL`] times that of the case, else a tmpfs of the case where the user may mount one. A
//! machine's disk is never filled.

use super::content::{self, BLOCK, Found, MIB};
use super::findings::Findings;
use super::{Bench, NasError, doing, extents, file_system};
use crate::results::{Better, Paper};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::CString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(super) const TITLE: &str =
    "Thick disks on a file server are reserved, lazily and eagerly; then the file system is filled";

/// A file system of at most this many times the size of the case counts as created for tests.
const SMALL: u64 = 8;
/// Size of the tmpfs in bytes.
const MEMORY: u64 = 64 * MIB;

pub(super) fn paper() -> Paper {
    Paper {
        test: "P4, reserve space".into(),
        system: "EMC VNX for File, NFSv3, ESXi 5.0".into(),
        words: "Thick lazy and eager disks can be created on NFS, where only thin ones existed before; the reservation holds.".into(),
        figures: Vec::new(),
    }
}

/// Way to reserve a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reserve {
    WriteZeros,
    Lazy,
    Eager,
}

impl Reserve {
    fn name(self) -> &'static str {
        match self {
            Self::WriteZeros => "writing zeros",
            Self::Lazy => "fallocate",
            Self::Eager => "fallocate with FALLOC_FL_ZERO_RANGE",
        }
    }
}

pub(super) fn run(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    for round in bench.rounds() {
        let mut turns = [Reserve::WriteZeros, Reserve::Lazy, Reserve::Eager];
        if round % 2 == 0 {
            turns.reverse();
        }
        for how in turns {
            bench.check_cancelled()?;
            match once(bench, findings, how) {
                Ok(()) => {}
                Err(error @ NasError::Unsupported { .. }) if how == Reserve::Lazy => {
                    findings.skipped = Some(error.to_string())
                }
                Err(error @ NasError::Unsupported { .. }) => findings.note(error.to_string()),
                Err(error) => return Err(error),
            }
        }
    }
    if findings.skipped.is_some() {
        return Ok(());
    }
    findings.goal_faster(20.0);
    fill(bench, findings)
}

fn reserve(bench: &Bench<'_>, how: Reserve, file: &File, path: &Path, bytes: u64) -> Result<(), NasError> {
    let call = |flags| {
        fallocate(file, flags, 0, bytes).map_err(|errno| match errno {
            Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL => {
                NasError::Unsupported { call: how.name(), error: errno.into() }
            }
            errno => doing("reserve", path)(errno),
        })
    };
    match how {
        Reserve::Lazy => call(FallocateFlags::empty())?,
        Reserve::Eager => call(FallocateFlags::ZERO_RANGE)?,
        Reserve::WriteZeros => {
            let zeros = vec![0; 1 << 20];
            for offset in (0..bytes).step_by(1 << 20) {
                bench.check_cancelled()?;
                file.write_all_at(&zeros, offset).map_err(doing("write", path))?;
            }
        }
    }
    file.sync_all().map_err(doing("sync", path))
}

fn once(bench: &Bench<'_>, findings: &mut Findings, how: Reserve) -> Result<(), NasError> {
    let path = bench.path("thick");
    let began = Instant::now();
    let file = content::open_new(&path)?;
    let reserved = reserve(bench, how, &file, &path, bench.size());
    let time = began.elapsed().as_secs_f64();
    if let Err(error) = reserved {
        bench.remove(&path)?;
        return Err(error);
    }
    let usage = extents::usage(&file, &path)?;
    let size = bench.size();
    let values = match how {
        Reserve::WriteZeros => &mut findings.off,
        Reserve::Lazy => &mut findings.on,
        Reserve::Eager => findings.others.entry("eager").or_default(),
    };
    values.seconds("seconds", time);
    values.bytes("used_bytes", usage.used, Better::Neither);
    let who = if how == Reserve::WriteZeros { "zeros written by this host" } else { "offloaded" };
    values.moved_bytes = [(who.to_owned(), size)].into();
    findings.check(usage.capacity == size, || {
        format!("{}: the disk has {} bytes, expected {size}", how.name(), usage.capacity)
    });
    // A file system that compresses may store none of the written zeros; space reserved by
    // fallocate must be allocated.
    let reserved = usage.used >= size || how == Reserve::WriteZeros;
    findings.check(reserved, || format!("{}: only {} of {size} bytes are reserved", how.name(), usage.used));
    if how == Reserve::WriteZeros && usage.used < size {
        findings.note(format!(
            "The file system keeps {} bytes of written zeros: writing them reserves nothing here.",
            usage.used
        ));
    }
    let wrong = content::verify(bench, &file, &path, |_| Found::Zeros)?;
    findings.check(wrong.is_none(), || {
        format!("{}: a new disk does not read as zeros: {}", how.name(), wrong.unwrap_or_default())
    });
    bench.remove(&path)
}

/// A tmpfs of this case; unmounted when dropped.
struct Memory(PathBuf);

impl Memory {
    fn mount(bench: &Bench<'_>) -> Result<Self, NasError> {
        let path = bench.path("memory");
        std::fs::create_dir(&path).map_err(doing("make", &path))?;
        let options = CString::new(format!("size={MEMORY},mode=0700")).unwrap_or_default();
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
        match mount("windlass-lab", &path, "tmpfs", flags, options.as_c_str()) {
            Ok(()) => Ok(Self(path)),
            Err(errno) => {
                std::fs::remove_dir(&path).map_err(doing("remove", &path))?;
                Err(NasError::Unsupported { call: "mount of a tmpfs", error: errno.into() })
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Detached if it is still in use; the removal of the directory reports anything left.
        if unmount(&self.0, UnmountFlags::empty()).is_err() {
            let _left_to_the_removal = unmount(&self.0, UnmountFlags::DETACH);
        }
    }
}

/// Fills a small file system, and then writes the reserved disk.
fn fill(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    let room = file_system::room(bench.directory());
    let bound = SMALL.saturating_mul(bench.size());
    if let Some(room) = room.filter(|room| room.size <= bound) {
        findings.note(format!(
            "All of the file system ({} bytes) was filled while half of the free space was reserved.",
            room.size
        ));
        return full(bench, findings, bench.directory(), room.free / 2);
    }
    match Memory::mount(bench) {
        Ok(memory) => {
            findings.note(format!(
                "The directory's file system is larger than {bound} bytes and was not filled: the reservation was tested on a tmpfs of {MEMORY} bytes."
            ));
            full(bench, findings, &memory.0, MEMORY / 2)
        }
        Err(error @ NasError::Unsupported { .. }) => {
            findings.note(format!(
                "Whether a reservation holds when the file system is full was not tested: that of the directory is larger than {bound} bytes, and {error}."
            ));
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Reserves space, fills the rest of the file system, and writes the reserved space.
fn full(bench: &Bench<'_>, findings: &mut Findings, directory: &Path, reserved: u64) -> Result<(), NasError> {
    let bytes = reserved / MIB * MIB;
    let (path, rest) = (directory.join("reserved"), directory.join("rest"));
    let file = content::open_new(&path)?;
    reserve(bench, Reserve::Lazy, &file, &path, bytes)?;
    let filler = content::open_new(&rest)?;
    let filled = until_full(bench, &filler, &rest)?;
    findings.on.bytes("filled_bytes", filled, Better::Neither);
    findings.on.bytes("reserved_bytes", bytes, Better::Neither);
    // No space is left for other files.
    let written =
        content::fill(bench, &file, &path, 0..bytes).and_then(|()| file.sync_all().map_err(doing("sync", &path)));
    match written {
        Err(NasError::Cancelled) => return Err(NasError::Cancelled),
        written => findings.check(written.is_ok(), || {
            format!(
                "the reservation did not hold on a full file system: {}",
                written.err().map(|error| error.to_string()).unwrap_or_default()
            )
        }),
    }
    content::forget(&file);
    let wrong = content::difference(&content::inspect(bench, &file, &path)?, |_| Found::Stamp(0));
    findings
        .check(wrong.is_none(), || format!("data written into the reservation differs: {}", wrong.unwrap_or_default()));
    bench.remove(&rest)?;
    bench.remove(&path)
}

/// Writes until no space is left. Syncs, so that delayed allocation cannot hide a full file system.
fn until_full(bench: &Bench<'_>, file: &File, path: &Path) -> Result<u64, NasError> {
    let full = |error: &std::io::Error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    let mut offset = 0;
    for step in [MIB, BLOCK] {
        loop {
            bench.check_cancelled()?;
            let data: Vec<u8> =
                (offset / BLOCK..(offset + step) / BLOCK).flat_map(|number| content::block(number, 1)).collect();
            match file
                .write_all_at(&data, offset)
                .and_then(|()| if offset % (32 * MIB) == 0 { file.sync_data() } else { Ok(()) })
            {
                Ok(()) => offset += step,
                Err(error) if full(&error) => break,
                Err(error) => return Err(doing("fill", path)(error)),
            }
        }
        match file.sync_data() {
            Err(error) if !full(&error) => return Err(doing("sync", path)(error)),
            _ => {}
        }
    }
    Ok(offset)
}
