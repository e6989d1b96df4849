//! A sparse pool of 512 TiB, the largest, in memory with a fully written space index: the time to open it, and
//! the memory that it holds.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::{CatalogChange, Core, Operation, Options, initial_root};
use media::{FileDisk, FormatOptions, LocalMedia, OpenOptions};
use std::path::Path;
use std::time::Duration;

const POOL_BYTES: u64 = 512 << 40;

/// Resident bytes of this process that no file backs.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let mut fields = statm.split(' ').map(|field| field.trim().parse::<u64>().unwrap());
    let (resident, shared) = (fields.nth(1).unwrap(), fields.next().unwrap());
    (resident - shared) * 4096
}

/// Processor time of this thread in nanoseconds.
fn thread_cpu_ns() -> u64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    schedstat.split(' ').next().unwrap().parse().unwrap()
}

fn open(path: &Path) -> Core<LocalMedia<FileDisk>> {
    let media = LocalMedia::open(FileDisk::open(path, &OpenOptions::default()).unwrap()).unwrap();
    Core::open(media, Options { memory_bytes: 64 << 20, incarnation: 2, ..Options::default() }, &mut |_| {}).unwrap().0
}

fn run(core: &mut Core<LocalMedia<FileDisk>>, operation: Operation) {
    let id = core.submit(operation);
    while core.take_finished(id).map(Result::unwrap).is_none() {
        core.pump(0);
    }
}

#[test]
fn a_pool_of_512_tib_opens_fast_and_in_bounded_memory() {
    let Ok(file) = tempfile::NamedTempFile::new_in("/dev/shm") else {
        println!("skipped: no /dev/shm, and other file systems have no files of 512 TiB");
        return;
    };
    let create = OpenOptions { create_bytes: Some(POOL_BYTES), ..OpenOptions::default() };
    let uuid = [1; 16];
    let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
    let media = LocalMedia::format(FileDisk::open(file.path(), &create).unwrap(), format).unwrap();
    let options = Options { memory_bytes: 64 << 20, incarnation: 1, ..Options::default() };
    let (mut core, _) = Core::open(media, options, &mut |_| {}).unwrap();
    let id = core.new_object_id();
    run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 44 }]));
    for block in 0..64 {
        let data = vec![7; 1 << 20].into();
        run(&mut core, Operation::Write { object: id, offset: block << 36, data, forced: true });
    }
    for zone in 0..core.map.space().layout().zones() {
        core.map.space_mut().distrust(zone);
    }
    let started_ns = thread_cpu_ns();
    core.checkpoint().unwrap();
    let written = Duration::from_nanos(thread_cpu_ns() - started_ns);
    drop(core);

    let before = resident_bytes();
    let started_ns = thread_cpu_ns();
    let mut core = open(file.path());
    let took = Duration::from_nanos(thread_cpu_ns() - started_ns);
    let held = resident_bytes().saturating_sub(before);
    println!("opened in {took:?}, its index written in {written:?}, {} MiB more in memory", held >> 20);
    assert!(core.space().size_bytes == POOL_BYTES);
    // Processor time, a few times that of writing the index at most: both depend on the machine.
    assert!(took < 4 * written, "{took:?} to open, {written:?} to write the index");
    // The space index: 8 bytes for each 8 MiB, thus 1 MiB for each TiB of the pool.
    assert!(held < (512 << 20) + (128 << 20), "{held}");
    run(&mut core, Operation::Read { object: id, offset: 63 << 36, length: 4096 });
}
