//! Workload for an instruction counter: `instructions KIND COUNT` does the same preparation for every count and then
//! COUNT calls of a share in a pool, so that the difference between two counts is the cost of the calls alone. Kinds:
//! attributes and lookup (of 1 000 files of a directory), create (of files without content, durable), write (4 KiB over
//! mapped blocks of a file of 16 MiB, unstable), clone (of that file into an empty one, which is emptied again).
//!
//! The pool is in a file in memory, whose I/O engine runs inside the calls; its system calls are not instructions of
//! this process.

use bytes::Bytes;
use files::{Files, Object, Root};
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool::{ADDRESS_SPACE_BYTES, Catalog, CatalogChange, Core, Options, Pool};
use pool_files::{PoolEngine, PoolFiles};
use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::{
    Call, Caller, Exclusive, FileId, FileSystem, FsError, Name, New, NewKind, SetAttributes, Source, Stability,
    Timestamp,
};

type Media = LocalMedia<FileDisk>;

const DISK_BYTES: u64 = 4 << 30;
const FILES: u64 = 1000;
const FILE_BYTES: u64 = 16 << 20;

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

    fn create(&self, text: &str) -> Result<FileId, Box<dyn Error>> {
        let new =
            New { what: NewKind::File { exclusive: Exclusive::No, hold: false }, attributes: SetAttributes::default() };
        let name = Name::try_from(text)?;
        Ok(self.end(self.files.create(self.call(), self.files.root(), &name, &new))?.file.file)
    }

    fn write(&self, file: FileId, offset_bytes: u64, data: Bytes) -> Result<(), FsError> {
        self.end(self.files.write(self.call(), file, offset_bytes, data.into(), Stability::Unstable)).map(|_| ())
    }
}

fn open() -> Result<Share, Box<dyn Error>> {
    let file = tempfile::NamedTempFile::new_in("/dev/shm")?;
    let options = OpenOptions { create_bytes: Some(DISK_BYTES), ..OpenOptions::default() };
    let disk = FileDisk::open(file.path(), &options)?;
    let uuid = [1; 16];
    let log_bytes = media::default_log_bytes(DISK_BYTES);
    let format = FormatOptions { uuid, log_bytes, root: pool::initial_root(uuid), overwrite: true };
    let options = Options { incarnation: 1, memory_bytes: 1 << 30, ..Options::default() };
    let (core, _) = Core::open(LocalMedia::format(disk, format)?, options, &mut |_| {})?;
    let pool = Pool::new(core);
    let id = pool.new_object_id();
    let engine = PoolEngine::new(pool.clone(), || [1; 16]);
    let files = Files::open(engine, Object(id.0), Root { mode: 0o755, ..Root::default() }, false);
    let share = Share { pool, files, caller: Caller::root() };
    share.end(share.pool.commit(vec![CatalogChange::CreateVolume { id, size_bytes: ADDRESS_SPACE_BYTES }]))?;
    Ok(share)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(kind), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("usage: instructions attributes|lookup|create|write|clone COUNT".into());
    };
    let count: u64 = count.parse()?;
    let share = open()?;
    let files: Vec<FileId> =
        (0..FILES).map(|number| share.create(&format!("file-{number}"))).collect::<Result<_, _>>()?;
    let names: Vec<Name> =
        (0..FILES).map(|number| Name::try_from(&format!("file-{number}")[..])).collect::<Result<_, _>>()?;
    let (source, destination) = (share.create("source")?, share.create("destination")?);
    for at in (0..FILE_BYTES).step_by(1 << 20) {
        share.write(source, at, Bytes::from(vec![(at >> 20) as u8 | 1; 1 << 20]))?;
    }
    share.pool.with_core(Core::checkpoint)?;
    let block = Bytes::from(vec![7; 4096]);
    share.write(source, 0, block.clone())?;
    let pick = |number: u64| (number * 7919 % FILES) as usize;
    for number in 0..count {
        match &kind[..] {
            "attributes" => drop(share.end(share.files.attributes(files[pick(number)]))?),
            "lookup" => {
                share.end(share.files.lookup(share.call(), share.files.root(), &names[pick(number)]))?;
            }
            "create" => drop(share.create(&format!("new-{number}"))?),
            "write" => share.write(source, number * 7919 % (FILE_BYTES / 4096) * 4096, block.clone())?,
            "clone" => {
                let from = Source { file_system: &share.files, file: source, offset_bytes: 0, length_bytes: None };
                share.end(share.files.clone_range(share.call(), from, destination, 0))?;
                let empty = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
                share.end(share.files.set_attributes(share.call(), destination, &empty, None))?;
            }
            other => return Err(format!("{other} is not a kind").into()),
        }
    }
    // The teardown at the end of the process is not part of the calls.
    std::mem::forget(share);
    Ok(())
}
