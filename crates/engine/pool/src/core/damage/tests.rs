//! Side of a copy that is damaged.
#![expect(clippy::unwrap_used, reason = "tests")]

use crate::interface::operation::Failure;
use crate::interface::range::BlockNumber;
use crate::{CatalogChange, Core, ObjectId, Operation, Options, initial_root};
use block::BlockError;
use bytes::Bytes;
use media::{BlockAddress, Fate, FormatOptions, LocalMedia, SimDisk, SimOptions};

type Engine = Core<LocalMedia<SimDisk>>;

const BLOCK: u64 = 4096;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, incarnation: 1, ..Options::default() }
}

fn run(core: &mut Engine, operation: Operation) -> Result<(), Failure> {
    let id = core.submit(operation);
    loop {
        core.pump(8);
        if let Some(result) = core.take_finished(id) {
            return result.map(drop);
        }
        core.medium.wait();
    }
}

/// A disk with two volumes that map their blocks 0 to 2, and for each the addresses of its root page
/// and of its block 1.
fn volumes() -> (SimDisk, [(ObjectId, BlockAddress, BlockAddress); 2]) {
    let disk = SimDisk::new(SimOptions::immediate(1, 2048 * 4));
    let uuid = [7; 16];
    let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
    let media = LocalMedia::format(disk.clone(), format).unwrap();
    let mut core = Core::open(media, options(), &mut |_| {}).unwrap().0;
    let made = [1, 2].map(|byte| {
        let id = core.new_object_id();
        let create = CatalogChange::CreateVolume { id, size_bytes: 1 << 20 };
        run(&mut core, Operation::Catalog(vec![create])).unwrap();
        let data = Bytes::from(vec![byte; 3 * BLOCK as usize]);
        run(&mut core, Operation::Write { object: id, offset: 0, data, forced: true }).unwrap();
        id
    });
    core.checkpoint().unwrap();
    let places = made.map(|id| {
        let root = core.map.root_of(id).unwrap().address;
        (id, root, core.map.lookup(id, BlockNumber::new(1)).unwrap().address())
    });
    (disk, places)
}

/// Result of a copy within one block, from block 1 of the first volume to block 1 of the second,
/// after damage at an address.
fn copied(
    disk: &SimDisk,
    places: [(ObjectId, BlockAddress, BlockAddress); 2],
    address: BlockAddress,
) -> Result<(), Failure> {
    let disk = disk.crashed_copy(|_| Fate::Applied);
    disk.damage(address.get(), |content| content[100] ^= 1);
    let mut core = Core::open(LocalMedia::open(disk).unwrap(), options(), &mut |_| {}).unwrap().0;
    let [(source, ..), (destination, ..)] = places;
    let (source_offset, destination_offset) = (BLOCK + 1024, BLOCK + 1024);
    run(&mut core, Operation::Clone { source, source_offset, destination, destination_offset, length: 512 })
}

/// Damage of a destination was reported as an error of the source of the copy: the error did not say
/// to which of them its block belongs.
#[test]
fn an_error_of_a_copy_names_the_damaged_side() {
    let (disk, places) = volumes();
    let [(_, source_page, source_block), (_, page, block)] = places;
    for (address, lba) in [(source_page, 10), (source_block, 8)] {
        assert_eq!(copied(&disk, places, address), Err(BlockError::SourceReadFailed { lba }.into()), "{address}");
    }
    for (address, lba) in [(page, 10), (block, 8)] {
        assert_eq!(copied(&disk, places, address), Err(BlockError::ReadFailed { lba }.into()), "{address}");
    }
}
