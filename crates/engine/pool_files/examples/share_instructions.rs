//! Workload for an instruction counter, over a share in a pool in memory.
//!
//! `share_instructions prepare DISK` creates a pool in this file, with a share whose root has so many entries that its
//! tree is as deep as that of a million. `share_instructions KIND COUNT DISK` opens it, brings what the calls need into
//! memory, and makes COUNT calls inside of [`measured`], to which the counter is to be limited. Kinds: attributes and
//! lookup (of files of the root), create (of files without content in the root, durable), write (4 KiB over mapped
//! blocks of a file of 16 MiB, unstable), clone (of that file into an empty one, durable).
//!
//! The I/O engine of the disk runs inside the calls; its system calls are not instructions of this process.

use bytes::Bytes;
use files::{Files, Object, Root};
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool::{ADDRESS_SPACE_BYTES, Catalog, CatalogChange, Core, ObjectId, Options, Pool};
use pool_files::{PoolEngine, PoolFiles};
use std::error::Error;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::{
    Call, Caller, Cookie, Exclusive, FileId, FileSystem, FsError, Name, NameError, New, NewKind, SetAttributes, Source,
    Stability, Timestamp,
};

type Media = LocalMedia<FileDisk>;

const DISK_BYTES: u64 = 4 << 30;
/// Entries of the root. Their tree has three levels.
const ENTRIES: u64 = 100_000;
/// Files of the root that calls name.
const USED: u64 = 500;
/// Calls between two turns of the pool.
const BATCH: u64 = 32;
const FILE_BYTES: u64 = 16 << 20;
const UUID: [u8; 16] = [1; 16];

struct Share {
    pool: Pool<Media>,
    files: PoolFiles<Media>,
    caller: Caller,
}

impl Share {
    fn call(&self) -> Call<'_> {
        Call::new(&self.caller, Timestamp::default())
    }

    /// Polls a call until it returns, and pumps the pool meanwhile.
    fn end<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return output;
            }
            self.pool.pump(0);
        }
    }

    fn create(&self, name: &Name) -> Result<FileId, FsError> {
        let new =
            New { what: NewKind::File { exclusive: Exclusive::No, hold: false }, attributes: SetAttributes::default() };
        Ok(self.end(self.files.create(self.call(), self.files.root(), name, &new))?.file.file)
    }

    fn write(&self, file: FileId, offset_bytes: u64, data: Bytes) -> Result<(), FsError> {
        self.end(self.files.write(self.call(), file, offset_bytes, data.into(), Stability::Unstable)).map(|_| ())
    }
}

/// Work that is counted. It stays a function of its own, so that the counter finds it.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

/// Creates the pool with an empty share, or opens it.
fn open(disk: &str, creates: bool) -> Result<Share, Box<dyn Error>> {
    let options = OpenOptions { create_bytes: creates.then_some(DISK_BYTES), ..OpenOptions::default() };
    let disk = FileDisk::open(Path::new(disk), &options)?;
    let log_bytes = media::default_log_bytes(DISK_BYTES);
    let format = FormatOptions { uuid: UUID, log_bytes, root: pool::initial_root(UUID), overwrite: true };
    let media = if creates { LocalMedia::format(disk, format)? } else { LocalMedia::open(disk)? };
    let options = Options { incarnation: 1, memory_bytes: 1 << 30, ..Options::default() };
    let (core, _) = Core::open(media, options, &mut |_| {})?;
    let pool = Pool::new(core);
    let id = if creates { pool.new_object_id() } else { share_of(&pool)? };
    let engine = PoolEngine::new(pool.clone(), || [1; 16]);
    let files = Files::open(engine, Object(id.0), Root { mode: 0o755, ..Root::default() }, false);
    let share = Share { pool, files, caller: Caller::root() };
    if creates {
        share.end(share.pool.commit(vec![CatalogChange::CreateVolume { id, size_bytes: ADDRESS_SPACE_BYTES }]))?;
    }
    Ok(share)
}

/// Object of the only share.
fn share_of(pool: &Pool<Media>) -> Result<ObjectId, Box<dyn Error>> {
    let ids = pool.with_core(|core| core.object_ids());
    ids.into_iter().next_back().ok_or_else(|| "the pool has no share".into())
}

/// Name of an entry of the root.
fn entry(number: u64) -> Result<Name, NameError> {
    Name::try_from(&format!("virtual-machine-{number:07}-disk-0.qcow2")[..])
}

fn prepare(disk: &str) -> Result<(), Box<dyn Error>> {
    let share = open(disk, true)?;
    for number in 0..ENTRIES {
        share.create(&entry(number)?)?;
    }
    let source = share.create(&Name::try_from("source")?)?;
    share.create(&Name::try_from("destination")?)?;
    for at in (0..FILE_BYTES).step_by(1 << 20) {
        share.write(source, at, Bytes::from(vec![(at >> 20) as u8 | 1; 1 << 20]))?;
    }
    share.pool.with_core(Core::checkpoint)?;
    Ok(())
}

/// Lists the root, so that all nodes of its tree are in memory.
fn list(share: &Share) -> Result<(), FsError> {
    let mut after = Cookie(0);
    loop {
        let listed = share.end(share.files.read_directory(share.call(), share.files.root(), after, 64, false))?;
        match listed.entries.last() {
            Some(last) if !listed.end => after = last.cookie,
            _ => return Ok(()),
        }
    }
}

fn make_calls(kind: &str, count: u64, share: &Share) -> Result<(), Box<dyn Error>> {
    let (root, call) = (share.files.root(), share.call());
    let step = ENTRIES / USED;
    let names: Vec<Name> = (0..USED).map(|number| entry(number * step)).collect::<Result<_, _>>()?;
    let found = |name: &Name| share.end(share.files.lookup(call, root, name)).map(|found| found.file.file);
    let files: Vec<FileId> = names.iter().map(found).collect::<Result<_, _>>()?;
    let (source, destination) = (found(&Name::try_from("source")?)?, found(&Name::try_from("destination")?)?);
    list(share)?;
    let block = Bytes::from(vec![7; 4096]);
    // The first change of a page in an epoch copies it, and the first write of a file of this run raises counters.
    for at in (0..FILE_BYTES).step_by(4096) {
        share.write(source, at, block.clone())?;
    }
    let empty = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
    let from = || Source { file_system: &share.files, file: source, offset_bytes: 0, length_bytes: None };
    let mut failure = None;
    for number in 0..count + BATCH {
        let pick = (number * 7919 % USED) as usize;
        let name = Name::try_from(&format!("new-{kind}-{number}")[..])?;
        let mut work = || {
            let done = match kind {
                "attributes" => share.end(share.files.attributes(files[pick])).map(drop),
                "lookup" => share.end(share.files.lookup(call, root, &names[pick])).map(drop),
                "create" => share.create(&name).map(drop),
                "write" => share.write(source, number * 7919 % (FILE_BYTES / 4096) * 4096, block.clone()),
                _ => share.end(share.files.clone_range(call, from(), destination, 0)).map(drop),
            };
            failure = done.err();
            if number % BATCH == BATCH - 1 {
                share.pool.pump(0);
            }
        };
        // The first calls bring the rest into memory.
        if number < BATCH {
            work()
        } else {
            measured(&mut work)
        }
        if let Some(failure) = failure.take() {
            return Err(failure.into());
        }
        if kind == "clone" {
            share.end(share.files.set_attributes(call, destination, &empty, None))?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(|word| &word[..]).collect();
    match words[..] {
        ["prepare", disk] => prepare(disk),
        [kind @ ("attributes" | "lookup" | "create" | "write" | "clone"), count, disk] => {
            let share = open(disk, false)?;
            make_calls(kind, count.parse()?, &share)?;
            // So that the next run finds the pool without a log to replay.
            share.pool.with_core(Core::checkpoint)?;
            // The teardown at the end of the process is not needed.
            std::mem::forget(share);
            Ok(())
        }
        _ => Err("usage: share_instructions prepare DISK, or attributes|lookup|create|write|clone COUNT DISK".into()),
    }
}
