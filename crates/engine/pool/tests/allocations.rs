//! Allocations of small reads and writes through a volume. Each bound is what the path needs now, so
//! that another allocation is a decision.
#![expect(clippy::unwrap_used, reason = "tests")]

use block::{BlockDevice, Durability, Extent};
use bytes::Bytes;
use futures_executor::block_on;
use media::{BLOCK_BYTES, CountingAllocator, FileDisk, FormatOptions, LocalMedia, OpenOptions};
use pool::{Catalog, CatalogChange, Core, Options, Pool};
use std::future::poll_fn;
use tempfile::NamedTempFile;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

type Array = Pool<LocalMedia<FileDisk>>;

const VOLUME_BLOCKS: u64 = 16 << 10;

/// Pool in a file of a memory file system, whose I/O engine works inside the calls.
fn pool(file: &NamedTempFile, memory_bytes: usize) -> Array {
    let create_bytes = Some(4 * VOLUME_BLOCKS * BLOCK_BYTES as u64);
    let disk = FileDisk::open(file.path(), &OpenOptions { create_bytes, ..OpenOptions::default() }).unwrap();
    let format =
        FormatOptions { uuid: [7; 16], log_bytes: 64 << 20, root: pool::initial_root([7; 16]), overwrite: false };
    let media = LocalMedia::format(disk, format).unwrap();
    Pool::new(Core::open(media, Options { memory_bytes, ..Options::default() }, &mut |_| {}).unwrap().0)
}

/// Runs an operation, and pumps until it is done.
fn run<T>(pool: &Array, operation: impl Future<Output = T>) -> T {
    let mut operation = Box::pin(operation);
    block_on(poll_fn(|context| {
        loop {
            let result = operation.as_mut().poll(context);
            pool.pump(0);
            if result.is_ready() {
                return result;
            }
        }
    }))
}

/// Allocations of each of `count` operations, without those that the harness makes.
fn each(count: u64, mut operation: impl FnMut(u64)) -> f64 {
    // Tables and buffers reach their size.
    (0..count).for_each(&mut operation);
    let before = CountingAllocator::allocations();
    (0..count).for_each(&mut operation);
    (CountingAllocator::allocations() - before) as f64 / count as f64
}

fn extent(block: u64) -> Extent {
    Extent::new(block * 8, 8)
}

#[test]
fn small_operations_allocate_little() {
    let file = NamedTempFile::new_in("/dev/shm").unwrap();
    let pool = pool(&file, 16 << 20);
    let id = pool.new_object_id();
    let create = CatalogChange::CreateVolume { id, size_bytes: VOLUME_BLOCKS * BLOCK_BYTES as u64 };
    run(&pool, pool.commit(vec![create])).unwrap();
    let volume = pool.volume(id);
    for block in (0..VOLUME_BLOCKS).step_by(256) {
        let data = Bytes::from(vec![block as u8 | 1; 256 * BLOCK_BYTES]);
        run(&pool, volume.write(Extent::new(block * 8, 256 * 8), data, Durability::AsConfigured)).unwrap();
    }
    let content = Bytes::from(vec![7; BLOCK_BYTES]);
    let write = |block: u64| {
        // Written by this epoch already, so that it is an overwrite in place.
        run(&pool, volume.write(extent(block % 64), content.clone(), Durability::AsConfigured)).unwrap();
    };
    let read = |block: u64| {
        let data = run(&pool, volume.read(extent(block))).unwrap();
        assert_eq!(data.len(), BLOCK_BYTES);
    };
    // The harness allocates the future.
    let hit = each(512, |at| read(1000 + at % 256)) - 1.0;
    let miss = each(8192, |at| read(at * 5 % VOLUME_BLOCKS)) - 1.0;
    let overwrite = each(512, write) - 1.0;
    println!("allocations of a read hit {hit:.2}, a read miss {miss:.2}, an overwrite {overwrite:.2}");
    assert!(hit <= 1.05, "{hit}");
    assert!(miss <= 1.05, "{miss}");
    assert!(overwrite <= 1.05, "{overwrite}");
}
