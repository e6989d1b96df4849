#![expect(clippy::unwrap_used, reason = "tests")]

use crate::{CatalogChange, Core, Operation, Options, initial_root};
use media::{BLOCK_BYTES, FormatOptions, LocalMedia, SimDisk, SimOptions};

type Engine = Core<LocalMedia<SimDisk>>;

const WRITE_BYTES: u64 = 1 << 20;

fn run(core: &mut Engine, operation: Operation) {
    let id = core.submit(operation);
    loop {
        core.pump(8);
        if let Some(result) = core.take_finished(id) {
            result.unwrap();
            return;
        }
        core.medium.wait();
    }
}

/// Overwriting a volume with large writes took new space for each of them until the log was full: their
/// records are short, so that a volume of 1 GiB took more than 6 GiB of the file below the pool, and
/// every write paid for space that the file system had to find.
#[test]
fn a_volume_that_is_overwritten_takes_little_space_beyond_its_size() {
    let disk = SimDisk::new(SimOptions::immediate(1, 2048 * 64));
    let format = FormatOptions { uuid: [7; 16], log_bytes: 4 << 20, root: initial_root([7; 16]), overwrite: false };
    let options = Options { memory_bytes: 8 << 20, incarnation: 1, ..Options::default() };
    let mut core = Core::open(LocalMedia::format(disk, format).unwrap(), options, &mut |_| {}).unwrap().0;
    let id = core.new_object_id();
    run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 8 * WRITE_BYTES }]));
    let mut most = 0;
    for round in 0..400 {
        let data = vec![round as u8 | 1; WRITE_BYTES as usize].into();
        run(&mut core, Operation::Write { object: id, offset: round % 8 * WRITE_BYTES, data, forced: true });
        let space = core.map.space();
        most = most.max(space.allocated() + space.pinned());
    }
    let volume = 8 * WRITE_BYTES / BLOCK_BYTES as u64;
    let part = core.map.space().usable() / 64;
    // As much as calls for a checkpoint, and what is written during one.
    assert!(most < volume + 3 * part, "{most} blocks for a volume of {volume}, a 64th of the pool is {part}");
    assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
}
