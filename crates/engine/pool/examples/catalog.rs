//! Benchmark of a pool with many objects. `catalog FOLDER OBJECTS CHANGES` creates OBJECTS volumes
//! and 20 000 documents, then deletes the oldest volume and creates another one CHANGES times, with
//! a checkpoint after every 500, and opens the pool again in a process of its own. Prints a line
//! `name value` for each result: microseconds of a deletion and a creation together, milliseconds of
//! a checkpoint after one changed object, bytes that a checkpoint writes after one changed document,
//! seconds to open, resident MiB of the open pool, and the most while it opened.
//!
//! Instruction counts of runs with two numbers of changes give the cost of one change.

use bytes::Bytes;
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool::{CatalogChange, Core, ObjectId, Operation, Options};
use std::collections::VecDeque;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const POOL_BYTES: u64 = 64 << 30;
const DOCUMENTS: u64 = 20_000;
/// Changes in one commit while the pool is filled.
const COMMIT: u64 = 250;
/// Deletions and creations between two checkpoints.
const EPOCH: u64 = 500;

/// First argument of the process that opens the pool again; its others are the file and the number
/// of volumes.
const REOPEN: &str = "--reopen";

type Engine = Core<LocalMedia<FileDisk>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(objects), Some(changes)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: catalog FOLDER OBJECTS CHANGES".into());
    };
    if folder == REOPEN {
        return reopen(Path::new(&objects), changes.parse()?);
    }
    let (objects, changes): (u64, u64) = (objects.parse()?, changes.parse()?);
    let file = tempfile::NamedTempFile::new_in(folder)?;
    let open = OpenOptions { create_bytes: Some(POOL_BYTES), ..OpenOptions::default() };
    let uuid = [1; 16];
    let log_bytes = media::default_log_bytes(POOL_BYTES);
    let format = FormatOptions { uuid, log_bytes, root: pool::initial_root(uuid), overwrite: true };
    let media = LocalMedia::format(FileDisk::open(file.path(), &open)?, format)?;
    let (mut core, _) = Core::open(media, options(1), &mut |_| {})?;
    fill(&mut core, objects)?;
    let mut volumes: VecDeque<ObjectId> = core.object_ids().into();
    let started = Instant::now();
    for n in 1..=changes {
        let oldest = volumes.pop_front().ok_or("there are no volumes")?;
        commit(&mut core, vec![CatalogChange::DeleteObject { id: oldest }])?;
        volumes.push_back(create(&mut core)?);
        if n % EPOCH == 0 {
            core.checkpoint()?;
        }
    }
    println!("delete-and-create {}", started.elapsed().as_secs_f64() * 1e6 / changes.max(1) as f64);
    core.checkpoint()?;
    let id = volumes[0];
    commit(&mut core, vec![CatalogChange::SetWriteCache { id, enabled: true }])?;
    let started = Instant::now();
    core.checkpoint()?;
    println!("checkpoint-of-one-object {}", started.elapsed().as_secs_f64() * 1e3);
    let before = core.counters().checkpoint_bytes;
    commit(&mut core, vec![document(77, 251)])?;
    core.checkpoint()?;
    println!("checkpoint-of-one-document {}", core.counters().checkpoint_bytes - before);
    drop(core);
    // The memory of this process holds what was freed above.
    let mut again = Command::new(std::env::current_exe()?);
    let status = again.arg(REOPEN).arg(file.path()).arg(volumes.len().to_string()).status()?;
    if status.success() { Ok(()) } else { Err("the pool did not open again".into()) }
}

fn options(incarnation: u64) -> Options {
    Options { incarnation, ..Options::default() }
}

fn fill(core: &mut Engine, objects: u64) -> Result<(), Box<dyn Error>> {
    for at in (0..objects).step_by(COMMIT as usize) {
        let changes = (at..objects.min(at + COMMIT)).map(|_| {
            let id = core.new_object_id();
            CatalogChange::CreateVolume { id, size_bytes: 1 << 30 }
        });
        let changes = changes.collect();
        commit(core, changes)?;
    }
    for at in (0..DOCUMENTS).step_by(COMMIT as usize) {
        commit(core, (at..at + COMMIT).map(|n| document(n, 250)).collect())?;
    }
    core.checkpoint()?;
    Ok(())
}

fn reopen(path: &Path, volumes: usize) -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let media = LocalMedia::open(FileDisk::open(path, &OpenOptions::default())?)?;
    let (core, _) = Core::open(media, options(2), &mut |_| {})?;
    println!("open {}", started.elapsed().as_secs_f64());
    println!("resident {}", resident_mib("VmRSS:")?);
    println!("resident-at-most {}", resident_mib("VmHWM:")?);
    if (core.object_ids().len(), core.documents().len()) != (volumes, DOCUMENTS as usize) {
        return Err("the pool holds other objects or documents than it did".into());
    }
    Ok(())
}

/// Returns a line of this process's status, in MiB.
fn resident_mib(line: &str) -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let rest = status.lines().find_map(|found| found.strip_prefix(line)).ok_or("the status lacks a line")?;
    let kib: f64 = rest.split_whitespace().next().ok_or("the status is short")?.parse()?;
    Ok(kib / 1024.0)
}

fn document(number: u64, bytes: usize) -> CatalogChange {
    CatalogChange::PutDocument { key: format!("volume/{number:08}"), value: Bytes::from(vec![b'd'; bytes]) }
}

fn create(core: &mut Engine) -> Result<ObjectId, Box<dyn Error>> {
    let id = core.new_object_id();
    commit(core, vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 30 }])?;
    Ok(id)
}

fn commit(core: &mut Engine, changes: Vec<CatalogChange>) -> Result<(), Box<dyn Error>> {
    core.submit(Operation::Catalog(changes));
    loop {
        core.pump(1);
        if let Some((_, result)) = core.poll_finished() {
            return result.map(|_| ()).map_err(|failure| format!("{failure:?}").into());
        }
    }
}
