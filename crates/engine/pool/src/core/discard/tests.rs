#![expect(clippy::unwrap_used, reason = "tests")]

use crate::core::B;
use crate::{ByteRange, CatalogChange, Core, ObjectId, Operation, Options, Output, initial_root};
use media::{BLOCK_BYTES, FormatOptions, LocalMedia, Media, SimDisk, SimOptions};

type Engine = Core<LocalMedia<SimDisk>>;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, incarnation: 1, discard: true, ..Options::default() }
}

fn run(core: &mut Engine, operation: Operation) -> Output {
    let id = core.submit(operation);
    loop {
        core.pump(64);
        if let Some(result) = core.take_finished(id) {
            return result.unwrap();
        }
        core.medium.media_mut().wait();
    }
}

fn write(core: &mut Engine, object: ObjectId, block: u64, count: u64, byte: u8) {
    let data = vec![byte; BLOCK_BYTES * count as usize].into();
    run(core, Operation::Write { object, offset: block * B, data, forced: true });
}

fn settle(core: &mut Engine) {
    for _ in 0..200 {
        core.pump(64);
        core.medium.media_mut().wait();
    }
}

#[test]
fn freed_runs_are_given_back_and_used_again() {
    for seed in 0..10 {
        let disk = SimDisk::new(SimOptions::new(seed, 2048 * 8));
        let uuid = [7; 16];
        let format = FormatOptions { uuid, log_bytes: 1 << 20, root: initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(disk.clone(), format).unwrap();
        let mut core = Core::open(media, options(), &mut |_| {}).unwrap().0;
        let id = core.new_object_id();
        run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: 1 << 40 }]));
        let keep = 300;
        for round in 0..6u8 {
            for piece in 0..4 {
                write(&mut core, id, 1000 + piece * 1024, 1024, round + 1);
            }
            write(&mut core, id, 0, keep, round + 1);
            run(
                &mut core,
                Operation::Zero { object: id, ranges: vec![ByteRange::new(1000 * B, 3500 * B)], forced: true },
            );
            settle(&mut core);
            core.checkpoint().unwrap();
            // New writes during the discards.
            write(&mut core, id, 20_000, 64, 99);
            settle(&mut core);
            let space = core.map.space();
            assert_eq!(space.available() + space.allocated() + space.pinned(), space.usable());
            assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
            assert!(core.counters().discarded >= 2048 * (u64::from(round) + 1), "{:?}", core.counters());
        }
        core.checkpoint().unwrap();
        for piece in 0..4 {
            write(&mut core, id, 1000 + piece * 1024, 1024, 77);
        }
        drop(core);
        let mut core = Core::open(LocalMedia::open(disk.crash()).unwrap(), options(), &mut |_| {}).unwrap().0;
        assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
        for (block, byte) in [(0, 6), (keep - 1, 6), (1000, 77), (5095, 77), (20_063, 99)] {
            match run(&mut core, Operation::Read { object: id, offset: block * B, length: BLOCK_BYTES }) {
                Output::Data(data) => assert!(data.iter().all(|found| *found == byte), "block {block}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
