//! Turns do a bounded amount of work on a medium that answers at once.
#![expect(clippy::unwrap_used, reason = "tests")]

use crate::core::lent::Begun;
use crate::transaction::{Attempt, Lent};
use crate::{
    BlockNumber, CatalogChange, Core, ObjectId, Operation, Options, Outcome, Stability, TurnWork, View, initial_root,
};
use bytes::Bytes;
use media::{BLOCK_BYTES, FormatOptions, LocalMedia, SimDisk, SimOptions};

type Engine = Core<LocalMedia<SimDisk>>;

const VOLUME_BYTES: u64 = 1 << 30;

/// Pool in memory.
fn engine() -> (Engine, ObjectId) {
    engine_on(SimOptions::immediate(1, 2048 * 16))
}

/// Pool on a disk, which answers after the submitting call.
fn engine_on_disk() -> (Engine, ObjectId) {
    engine_on(SimOptions { delay: 0, reorder: false, ..SimOptions::new(1, 2048 * 16) })
}

fn engine_on(options: SimOptions) -> (Engine, ObjectId) {
    let disk = SimDisk::new(options);
    let format = FormatOptions { uuid: [7; 16], log_bytes: 16 << 20, root: initial_root([7; 16]), overwrite: false };
    let media = LocalMedia::format(disk, format).unwrap();
    let options = Options { memory_bytes: 64 << 20, incarnation: 1, ..Options::default() };
    let mut core = Core::open(media, options, &mut |_| {}).unwrap().0;
    let id = core.new_object_id();
    run(&mut core, Operation::Catalog(vec![CatalogChange::CreateVolume { id, size_bytes: VOLUME_BYTES }]));
    (core, id)
}

fn run(core: &mut Engine, operation: Operation) {
    let id = core.submit(operation);
    loop {
        if let Some(result) = core.take_finished(id) {
            result.unwrap();
            return;
        }
        core.pump(0);
    }
}

/// Overwrites blocks in as many leaves: each dirties a page and a block.
fn scatter(core: &mut Engine, object: ObjectId, blocks: u64) {
    for i in 0..blocks {
        let data = Bytes::from(vec![i as u8 | 1; BLOCK_BYTES]);
        let offset = i << 20;
        run(core, Operation::Write { object, offset, data, forced: true });
    }
}

/// A whole checkpoint with its destaging ran in one turn, 80 to 150 ms in which no host was served.
#[test]
fn a_checkpoint_takes_many_short_turns() {
    let (mut core, volume) = engine();
    scatter(&mut core, volume, 1000);
    let bound = TurnWork::bound(Options::default().turn_blocks);
    let before = core.counters();
    core.request_checkpoint();
    let (mut turns, mut blocks, mut frozen) = (0, 0, 0);
    while core.counters().checkpoints == before.checkpoints {
        core.pump(0);
        assert!(core.turn_work().is_within(&bound), "{:?}", core.turn_work());
        let work = core.turn_work();
        (turns, blocks, frozen) = (turns + 1, blocks + work.blocks, frozen + work.frozen);
        assert!(core.is_cut() || core.counters().checkpoints > before.checkpoints, "the checkpoint stalls");
    }
    let after = core.counters();
    let checkpoint = (after.checkpoint_bytes - before.checkpoint_bytes) as usize / BLOCK_BYTES;
    let destaged = (after.destaged - before.destaged) as usize;
    assert!(destaged >= 1000);
    assert_eq!(blocks, checkpoint + destaged);
    let most = blocks / bound.blocks + 2 * frozen / bound.frozen + 3;
    assert!(turns <= most, "{turns} turns for {blocks} blocks and {frozen} pages and segments");
    assert!(!core.wants_turn());
}

/// One turn sealed all changed pages and encoded all counts: 19 to 30 ms with 30 000 pages.
#[test]
fn pages_of_an_epoch_are_sealed_in_the_turns_after_its_end() {
    let (mut core, volume) = engine();
    scatter(&mut core, volume, 1000);
    let bound = TurnWork::bound(Options::default().turn_blocks);
    let before = core.counters();
    core.request_checkpoint();
    let (mut ends, mut slices, mut sealed) = (0, 0, 0);
    for round in 0.. {
        // Moves a page of the epoch that has ended, sealed or not.
        let data = Bytes::from(vec![9; BLOCK_BYTES]);
        core.submit(Operation::Write { object: volume, offset: (round % 1000) << 20, data, forced: false });
        core.pump(0);
        let work = core.turn_work();
        assert!(work.is_within(&bound), "{work:?}");
        ends += usize::from(work.ended);
        slices += usize::from(work.frozen > 0);
        sealed += work.frozen;
        if core.counters().checkpoints > before.checkpoints {
            break;
        }
    }
    assert_eq!(ends, 1);
    assert!(sealed >= 1000 && slices >= sealed / bound.frozen, "{slices} slices, {sealed}");
    assert!(core.counters().pages_written - before.pages_written >= 1000);
    core.checkpoint().unwrap();
    assert!(core.check(true, &mut |_| {}).unwrap().is_clean());
}

/// A turn attempted all operations that waited for room in the log or in memory, some thousands.
#[test]
fn a_turn_resumes_a_bounded_number_of_waiting_operations() {
    let (mut core, volume) = engine();
    core.options.memory_bytes = 1 << 20;
    for i in 0..5000 {
        let data = Bytes::from(vec![9; BLOCK_BYTES]);
        core.submit(Operation::Write { object: volume, offset: (i % 1024) << 20, data, forced: true });
    }
    assert!(core.schedule.log_waiters() > 1000);
    let bound = TurnWork::bound(Options::default().turn_blocks);
    let mut left = 5000;
    while left > 0 {
        core.pump(0);
        assert!(core.turn_work().is_within(&bound), "{:?}", core.turn_work());
        while let Some((_, result)) = core.poll_finished() {
            result.unwrap();
            left -= 1;
        }
        assert!(left == 0 || core.is_cut());
    }
}

fn write(core: &mut Engine, object: ObjectId, place: u64, blocks: usize) -> u64 {
    let data = Bytes::from(vec![9; blocks * BLOCK_BYTES]);
    core.submit(Operation::Write { object, offset: place << 20, data, forced: true })
}

/// Fills the memory with writes of one block until the last of them waits for room, which there is for none until
/// memory grows.
fn fill(core: &mut Engine, volume: ObjectId) -> Vec<u64> {
    scatter(core, volume, 1000);
    core.options.memory_bytes = 1 << 20;
    let mut writes = Vec::new();
    while !core.schedule.waits_for_log() {
        writes.push(write(core, volume, writes.len() as u64 % 1000, 1));
    }
    writes
}

/// Operations in the order in which they finish, until all of `last` have.
fn order_of_ends(core: &mut Engine, last: &[u64]) -> Vec<u64> {
    let mut order = Vec::new();
    while !last.iter().all(|id| order.contains(id)) {
        core.pump(0);
        while let Some((id, result)) = core.poll_finished() {
            result.unwrap();
            order.push(id);
        }
    }
    order.retain(|id| last.contains(id));
    order
}

/// Short records found room in the log again and again before a long one that waited: for seconds.
#[test]
fn a_short_write_waits_for_the_log_behind_a_long_one() {
    let (mut core, volume) = engine();
    let before = fill(&mut core, volume);
    let long = write(&mut core, volume, 0, 4);
    // Room for a short record.
    core.options.memory_bytes = 256 << 20;
    let short = write(&mut core, volume, 1, 1);
    assert!(core.schedule.contains(short), "it got ahead of {} operations", core.schedule.log_waiters());
    let order = order_of_ends(&mut core, &[&before[..], &[long, short]].concat());
    let place = |id| order.iter().position(|finished| *finished == id).unwrap();
    assert!(place(long) < place(short));
    assert!(before.iter().all(|id| place(*id) < place(long)), "operations before the long one");
}

/// A retry without room turned the queue round.
#[test]
fn operations_that_find_no_room_again_keep_their_places() {
    let (mut core, volume) = engine();
    fill(&mut core, volume);
    let writes: Vec<u64> =
        (0..).zip([4, 1, 4, 1, 1]).map(|(at, blocks)| write(&mut core, volume, at, blocks)).collect();
    for _ in 0..3 {
        core.schedule.retry_all();
        core.advance();
        assert!(writes.iter().all(|id| core.schedule.contains(*id)), "some got ahead of those before them");
    }
    core.options.memory_bytes = 256 << 20;
    assert_eq!(order_of_ends(&mut core, &writes), writes);
}

/// A transaction whose submitter makes the attempts lost its place whenever it was asked for one.
#[test]
fn a_transaction_of_a_submitter_keeps_its_place_for_the_log() {
    let (mut core, volume) = engine();
    fill(&mut core, volume);
    let before = write(&mut core, volume, 0, 1);
    let change = |bytes: usize| {
        Lent::new(
            move |view: &mut View<'_>| {
                view.edit(volume, BlockNumber::new(0), 0..bytes)?.fill(7);
                Ok(Outcome::Commit(()))
            },
            |_: &mut View<'_>, ()| (),
        )
    };
    let (mut first, mut second) = (change(BLOCK_BYTES), change(8));
    let begin = |core: &mut Engine, body: &mut dyn Attempt| match core.begin_lent(body, Stability::Durable) {
        Begun::InProgress(id) => id,
        Begun::Ended(result) => panic!("{result:?}"),
    };
    let ids = [begin(&mut core, &mut first), begin(&mut core, &mut second)];
    core.options.memory_bytes = 256 << 20;
    core.pump(0);
    let due: Vec<u64> = std::iter::from_fn(|| core.poll_due()).collect();
    assert_eq!(due, ids);
    assert!(!core.schedule.contains(before));
    // The second submitter is quicker.
    core.continue_lent(ids[1], &mut second);
    assert!(core.schedule.contains(ids[1]), "it got ahead");
    let new = write(&mut core, volume, 0, 1);
    assert!(core.schedule.contains(new), "it got ahead of those whose submitters were asked");
    core.continue_lent(ids[0], &mut first);
    core.pump(0);
    assert_eq!(core.poll_due(), Some(ids[1]));
    core.continue_lent(ids[1], &mut second);
    let order = order_of_ends(&mut core, &[ids[0], ids[1], new]);
    assert_eq!(order, [ids[0], ids[1], new]);
}

/// While a checkpoint is written, each turn completes what hosts have submitted before it.
#[test]
fn hosts_are_served_between_the_turns_of_a_checkpoint() {
    let (mut core, volume) = engine();
    scatter(&mut core, volume, 1000);
    let before = core.counters().checkpoints;
    core.request_checkpoint();
    core.pump(0);
    let mut served = 0;
    while core.counters().checkpoints == before {
        let data = Bytes::from(vec![9; BLOCK_BYTES]);
        let id = core.submit(Operation::Write { object: volume, offset: 0, data, forced: true });
        core.pump(0);
        core.take_finished(id).unwrap().unwrap();
        served += 1;
    }
    assert!(served >= 10, "{served}");
}

/// Of many operations that became ready together, the turn attempts a part.
#[test]
fn a_turn_attempts_a_bounded_number_of_operations() {
    let (mut core, volume) = engine();
    for _ in 0..5000 {
        core.submit(Operation::Read { object: volume, offset: 0, length: BLOCK_BYTES });
        let data = Bytes::from(vec![9; 64 << 10]);
        core.submit(Operation::Write { object: volume, offset: 0, data, forced: true });
    }
    let bound = TurnWork::bound(Options::default().turn_blocks);
    let mut left = 10_000;
    while left > 0 {
        core.pump(0);
        assert!(core.turn_work().is_within(&bound), "{:?}", core.turn_work());
        while let Some((_, result)) = core.poll_finished() {
            result.unwrap();
            left -= 1;
        }
        assert!(left == 0 || core.is_cut());
    }
}

/// Eviction walked through all pages in every turn, and the list of blocks written over and over
/// grew without end.
#[test]
fn a_turn_considers_a_bounded_number_of_entries() {
    let (mut core, volume) = engine();
    core.options.memory_bytes = 4 << 20;
    let bound = TurnWork::bound(Options::default().turn_blocks);
    for round in 0..20 {
        for i in 0..300u64 {
            let data = Bytes::from(vec![round | 1; BLOCK_BYTES]);
            let offset = i << 20;
            run(&mut core, Operation::Write { object: volume, offset, data, forced: true });
            assert!(core.turn_work().is_within(&bound), "{:?}", core.turn_work());
        }
    }
    core.checkpoint().unwrap();
    for _ in 0..10 {
        core.pump(0);
    }
    core.pump(0);
    assert_eq!(core.turn_work().walked, 0, "nothing is left to evict");
}

/// The data cache had an eighth of the memory however little the map used: of 512 MiB, 32.
#[test]
fn the_data_cache_has_what_map_and_counts_leave() {
    let (mut core, volume) = engine_on_disk();
    let (memory, block) = (core.options.memory_bytes as u64, BLOCK_BYTES as u64);
    for piece in 0..64 {
        let data = Bytes::from(vec![piece as u8 | 1; 1 << 20]);
        run(&mut core, Operation::Write { object: volume, offset: piece << 20, data, forced: true });
    }
    let pass = |core: &mut Engine, mebibytes: u64| {
        let before = core.data_cache();
        for at in 0..(mebibytes << 20) / block {
            run(core, Operation::Read { object: volume, offset: at * block, length: BLOCK_BYTES });
            core.pump(0);
            assert!(core.data_cache().bytes <= core.data_cache().limit_bytes);
        }
        (core.data_cache().hits - before.hits, core.data_cache().misses - before.misses)
    };
    assert_eq!(pass(&mut core, 40), (0, 40 << 8));
    assert!(core.data_cache().bytes <= memory / 8);
    pass(&mut core, 40);
    let (hits, misses) = pass(&mut core, 40);
    assert!(misses < hits / 10, "{hits} {misses}");
    pass(&mut core, 64);
    let full = core.data_cache();
    assert!(full.bytes > memory / 2 && full.evictions > 0, "{full:?}");
    // Pages of the map displace blocks, a bounded number in a turn.
    scatter(&mut core, volume, 1000);
    core.checkpoint().unwrap();
    core.pump(0);
    let less = core.data_cache();
    assert!(less.limit_bytes < full.limit_bytes && less.bytes <= less.limit_bytes, "{less:?}");
    assert!(less.limit_bytes >= memory / 8 - (1 << 20), "{less:?}");
}

/// Each read of a pool in memory copied its blocks into the cache, where few were used again. What is
/// read twice is worth a copy, within an eighth of the memory.
#[test]
fn a_pool_in_memory_caches_what_is_read_again() {
    let (mut core, volume) = engine();
    let memory = core.options.memory_bytes as u64;
    run(&mut core, Operation::Write { object: volume, offset: 0, data: vec![7; 8 << 20].into(), forced: true });
    let pass = |core: &mut Engine, blocks: u64| {
        let before = core.data_cache();
        for at in 0..blocks {
            run(core, Operation::Read { object: volume, offset: at << 12, length: BLOCK_BYTES });
            core.pump(0);
        }
        (core.data_cache().hits - before.hits, core.data_cache().misses - before.misses)
    };
    core.pump(0);
    assert_eq!(pass(&mut core, 500), (0, 500));
    assert_eq!(core.data_cache().bytes, 0);
    assert_eq!(pass(&mut core, 500), (0, 500));
    assert_eq!(pass(&mut core, 500), (500, 0));
    (0..4).for_each(|_| _ = pass(&mut core, 2000));
    assert!(core.data_cache().bytes <= memory / 8);
}

/// A read from a medium in memory waited for the next pump, which took as long as the read itself. It
/// finishes in the submitting call; a pump, which keeps memory within its bound, is due after some.
#[test]
fn a_read_from_memory_needs_no_pump() {
    let (mut core, volume) = engine();
    run(&mut core, Operation::Write { object: volume, offset: 0, data: vec![7; 4 << 20].into(), forced: true });
    while !core.idle() {
        core.pump(0);
    }
    let mut reads = 0;
    while !core.owes_eviction() {
        let id = core.submit(Operation::Read { object: volume, offset: reads << 12, length: BLOCK_BYTES });
        assert!(matches!(core.take_finished(id), Some(Ok(crate::Output::Data(data))) if data[..] == [7; BLOCK_BYTES]));
        reads += 1;
    }
    assert!(reads <= 64 && core.data_cache().misses == reads, "{reads}");
    core.pump(0);
    assert!(!core.owes_eviction());
}
