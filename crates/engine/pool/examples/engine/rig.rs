//! Pool whose pump the caller drives.

use bytes::Bytes;
use media::{Disk, FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool::{CatalogChange, Core, ObjectId, ObjectKind, Operation, Options, Output};
use std::error::Error;
use std::path::Path;

pub type Failed = Box<dyn Error>;

pub struct Rig<D: Disk> {
    pub core: Core<LocalMedia<D>>,
    outstanding: u64,
}

pub fn options(memory_bytes: usize) -> Options {
    Options { memory_bytes, incarnation: std::process::id().into(), ..Options::default() }
}

/// Sparse file as a disk.
pub fn file(path: &Path, bytes: u64) -> Result<FileDisk, Failed> {
    Ok(FileDisk::open(path, &OpenOptions { create_bytes: Some(bytes), ..OpenOptions::default() })?)
}

impl<D: Disk> Rig<D> {
    pub fn new(disk: D, memory_bytes: usize) -> Result<Self, Failed> {
        let uuid = [1; 16];
        let log_bytes = media::default_log_bytes(disk.block_count() * 4096);
        let format = FormatOptions { uuid, log_bytes, root: pool::initial_root(uuid), overwrite: true };
        Self::open(LocalMedia::format(disk, format)?, memory_bytes)
    }

    pub fn open(media: LocalMedia<D>, memory_bytes: usize) -> Result<Self, Failed> {
        let (core, _) = Core::open(media, options(memory_bytes), &mut |_| {})?;
        Ok(Self { core, outstanding: 0 })
    }

    pub fn submit(&mut self, operation: Operation) {
        self.core.submit(operation);
        self.outstanding += 1;
    }

    /// Pumps once and takes results; returns the number of finished operations.
    pub fn pump(&mut self, background: usize) -> Result<u64, Failed> {
        self.core.pump(background);
        let mut finished = 0;
        while let Some((_, result)) = self.core.poll_finished() {
            result.map_err(|failure| format!("{failure:?}"))?;
            finished += 1;
        }
        self.outstanding -= finished;
        Ok(finished)
    }

    /// Number of unfinished operations.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Waits for the disk.
    pub fn wait(&mut self) {
        self.core.wait();
    }

    /// Pumps until at most `outstanding` operations are unfinished.
    pub fn drain(&mut self, outstanding: u64) -> Result<(), Failed> {
        while self.outstanding > outstanding {
            if self.pump(0)? == 0 {
                self.wait();
            }
        }
        Ok(())
    }

    pub fn run(&mut self, operation: Operation) -> Result<Output, Failed> {
        self.drain(0)?;
        let id = self.core.submit(operation);
        loop {
            self.core.pump(16);
            while let Some((found, result)) = self.core.poll_finished() {
                if found == id {
                    return result.map_err(|failure| format!("{failure:?}").into());
                }
            }
        }
    }

    pub fn create(&mut self, size_bytes: u64) -> Result<ObjectId, Failed> {
        let id = self.core.new_object_id();
        self.run(Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes }]))?;
        Ok(id)
    }

    pub fn clone_of(&mut self, source: ObjectId) -> Result<ObjectId, Failed> {
        let id = self.core.new_object_id();
        let (source, kind) = (source, ObjectKind::Volume);
        self.run(Operation::Catalog(vec![CatalogChange::CloneObject { source, id, kind }]))?;
        Ok(id)
    }

    /// Writes `bytes` from the start, with large writes.
    pub fn fill(&mut self, object: ObjectId, bytes: u64, byte: u8) -> Result<(), Failed> {
        let data = Bytes::from(vec![byte; 1 << 20]);
        for offset in (0..bytes).step_by(1 << 20) {
            self.submit(Operation::Write { object, offset, data: data.clone(), forced: false });
            self.drain(8)?;
        }
        self.drain(0)
    }

    /// Maps `bytes` of `object` by copying the first `seed_bytes` of `source` repeatedly.
    pub fn replicate(&mut self, source: ObjectId, seed_bytes: u64, object: ObjectId, bytes: u64) -> Result<(), Failed> {
        for offset in (0..bytes).step_by(seed_bytes as usize) {
            self.submit(Operation::Clone {
                source,
                source_offset: 0,
                destination: object,
                destination_offset: offset,
                length: seed_bytes.min(bytes - offset),
            });
            self.drain(8)?;
        }
        self.drain(0)
    }
}

/// Resident memory of this process in bytes.
pub fn resident_bytes() -> Result<u64, Failed> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split_whitespace().nth(1).ok_or("statm")?.parse()?;
    Ok(pages * 4096)
}
