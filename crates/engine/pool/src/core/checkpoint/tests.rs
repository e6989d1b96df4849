//! Pages of a pool whose reference counts are wrong although their checksums are right.
#![expect(clippy::unwrap_used, reason = "tests")]

use crate::interface::operation::{Failure, Output};
use crate::{CatalogChange, Core, ObjectId, Operation, Options, initial_root};
use block::BlockError;
use bytes::Bytes;
use media::{BLOCK_BYTES, Fate, FormatOptions, LocalMedia, SimDisk, SimOptions};

type Engine = Core<LocalMedia<SimDisk>>;

const VOLUME_BYTES: u64 = 1 << 20;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, incarnation: 1, ..Options::default() }
}

fn run(core: &mut Engine, operation: Operation) -> Result<Output, Failure> {
    let id = core.submit(operation);
    loop {
        core.pump(8);
        if let Some(result) = core.take_finished(id) {
            return result;
        }
        core.medium.wait();
    }
}

fn change(core: &mut Engine, change: CatalogChange) {
    run(core, Operation::Catalog(vec![change])).unwrap();
}

fn volume(core: &mut Engine) -> ObjectId {
    let id = core.new_object_id();
    change(core, CatalogChange::CreateVolume { id, size_bytes: VOLUME_BYTES });
    id
}

fn write(core: &mut Engine, object: ObjectId, byte: u8) -> Result<Output, Failure> {
    let data = Bytes::from(vec![byte; BLOCK_BYTES]);
    run(core, Operation::Write { object, offset: 0, data, forced: true })
}

fn read(core: &mut Engine, object: ObjectId) -> Result<Output, Failure> {
    run(core, Operation::Read { object, offset: 0, length: BLOCK_BYTES })
}

fn refused(result: Result<Output, Failure>) {
    match result {
        Err(Failure::Block(BlockError::ReadFailed { lba: 0 })) => {}
        other => panic!("{other:?}"),
    }
}

/// A pool with two volumes: the root page of the second has a count of zero, and its block now holds
/// the root page of the first.
fn with_one_root_for_two() -> (SimDisk, Engine, [ObjectId; 2]) {
    let disk = SimDisk::new(SimOptions::immediate(1, 2048 * 4));
    let uuid = [7; 16];
    let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
    let media = LocalMedia::format(disk.clone(), format).unwrap();
    let mut core = Core::open(media, options(), &mut |_| {}).unwrap().0;
    let lost = volume(&mut core);
    write(&mut core, lost, 1).unwrap();
    core.checkpoint().unwrap();
    let root = core.map.root_of(lost).unwrap().address;
    core.map.space_mut().decrement(root).unwrap();
    core.checkpoint().unwrap();
    core.map.space_mut().start_at(0);
    for _ in 0..100 {
        let other = volume(&mut core);
        write(&mut core, other, 2).unwrap();
        if core.map.root_of(other).unwrap().address == root {
            return (disk, core, [other, lost]);
        }
    }
    panic!("the block is never allocated again");
}

/// The fuzzer found a pool whose counts called the root page of a volume free. Once another volume
/// had placed its root there, reads of the first volume returned content of the other one, and a
/// freeze gave the first volume the checksum of that page.
#[test]
fn a_root_page_replaced_by_another_is_an_error_and_no_content() {
    let (_disk, mut core, [_, lost]) = with_one_root_for_two();
    refused(read(&mut core, lost));
    refused(write(&mut core, lost, 9));
    assert!(core.take_incidents().iter().any(|incident| format!("{incident:?}").contains("replaced by another page")));
    core.checkpoint().unwrap();
    refused(read(&mut core, lost));
}

#[test]
fn a_changed_object_keeps_the_checksum_of_its_replaced_root() {
    let (disk, mut core, [other, lost]) = with_one_root_for_two();
    change(&mut core, CatalogChange::SetWriteCache { id: lost, enabled: true });
    core.checkpoint().unwrap();
    refused(read(&mut core, lost));
    let media = LocalMedia::open(disk.crashed_copy(|_| Fate::Applied)).unwrap();
    let mut core = Core::open(media, options(), &mut |_| {}).unwrap().0;
    refused(read(&mut core, lost));
    read(&mut core, other).unwrap();
}

/// Such a write would move the page and then find no reference to give back.
#[test]
fn a_write_below_a_page_without_a_count_fails_and_the_pool_continues() {
    let (_disk, mut core, [other, lost]) = with_one_root_for_two();
    core.checkpoint().unwrap();
    let root = core.map.root_of(other).unwrap().address;
    core.map.space_mut().decrement(root).unwrap();
    refused(write(&mut core, other, 9));
    assert_eq!(core.stopped(), None);
    refused(read(&mut core, lost));
    read(&mut core, other).unwrap();
}
