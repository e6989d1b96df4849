//! Differences of snapshots: complete, exact where content is shared, and ended when an object that they compare is no
//! longer what it was.

use crate::common::{BLOCK, Rig, options};
use media::{Fault, FaultEffect, FaultOperation, FormatOptions, LocalMedia, SimDisk, SimOptions};
use pool::{
    BlockNumber, CatalogChange, ChangedContent, Core, DifferenceId, DifferenceStep, Failure, ObjectId, ObjectKind,
    Operation, Options, Output, PoolError,
};
use random::Random;
use std::collections::BTreeMap;

/// What a difference says of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Zero,
    /// With the checksum.
    Data(u32),
}

type Changes = BTreeMap<u64, Change>;

impl Rig {
    fn begin(&mut self, base: impl Into<Option<ObjectId>>, new: ObjectId) -> DifferenceId {
        self.core.begin_difference(base.into(), new).unwrap()
    }

    fn step(&mut self, difference: DifferenceId, from: u64) -> Result<DifferenceStep, Failure> {
        match self.run(Operation::DifferenceStep { difference, from: BlockNumber::new(from) })? {
            Output::Difference(step) => Ok(*step),
            other => panic!("{other:?}"),
        }
    }

    /// Runs a difference to its end, with `between` after each step.
    fn difference_with(
        &mut self,
        base: impl Into<Option<ObjectId>>,
        new: ObjectId,
        mut between: impl FnMut(&mut Self),
    ) -> Changes {
        let difference = self.begin(base, new);
        let mut changes = Changes::new();
        let mut next = 0;
        loop {
            let step = self.step(difference, next).unwrap();
            let end = step.next.map_or(u64::MAX, BlockNumber::get);
            assert!(end > next, "a step goes on");
            for run in &step.runs {
                let range = run.range();
                let first = range.first.get();
                assert!(range.count > 0 && first >= next && first + range.count <= end, "{run:?} of {next}..{end}");
                assert!(changes.range(first..).next().is_none(), "runs ascend");
                match &run.content {
                    ChangedContent::Zero(count) => changes.extend((first..first + count).map(|at| (at, Change::Zero))),
                    ChangedContent::Data(blocks) => {
                        changes.extend((first..).zip(blocks.iter().map(|block| Change::Data(block.crc))));
                    }
                }
            }
            match step.next {
                Some(block) => next = block.get(),
                None => break,
            }
            between(self);
        }
        self.core.end_difference(difference);
        changes
    }

    fn difference(&mut self, base: impl Into<Option<ObjectId>>, new: ObjectId) -> Changes {
        self.difference_with(base, new, |_| {})
    }

    fn snapshot(&mut self, of: ObjectId) -> ObjectId {
        self.clone_of(of, ObjectKind::Snapshot).unwrap()
    }

    fn resize(&mut self, id: ObjectId, blocks: u64) {
        self.change(CatalogChange::Resize { id, size_bytes: blocks * BLOCK }).unwrap();
    }

    fn create_capture(&mut self, blocks: u64) -> ObjectId {
        let id = self.core.new_object_id();
        self.change(CatalogChange::CreateCapture { id, size_bytes: blocks * BLOCK }).unwrap();
        id
    }

    /// Pool with this memory.
    fn with_memory(memory_bytes: usize) -> Self {
        let disk = SimDisk::new(SimOptions::immediate(7, 2048 * 12));
        let uuid = [7; 16];
        let format = FormatOptions { uuid, log_bytes: 1 << 20, root: pool::initial_root(uuid), overwrite: false };
        drop(LocalMedia::format(disk.clone(), format).unwrap());
        Self::on(disk, Options { memory_bytes, ..options(1) }).unwrap()
    }

    /// Opens the pool again after a checkpoint, so that no page of an object is in memory.
    fn with_nothing_in_memory(&mut self) {
        self.core.checkpoint().unwrap();
        self.core = self.reopen();
    }

    /// Requests that read from the disk so far.
    fn reads(&self) -> u64 {
        self.disk.counters().reads
    }
}

/// Blocks that were written or zeroed, as numbers.
fn blocks(changes: &Changes, wanted: impl Fn(&Change) -> bool) -> Vec<u64> {
    changes.iter().filter(|(_, change)| wanted(change)).map(|(block, _)| *block).collect()
}

fn zeros(changes: &Changes) -> Vec<u64> {
    blocks(changes, |change| *change == Change::Zero)
}

fn data(changes: &Changes) -> Vec<u64> {
    blocks(changes, |change| *change != Change::Zero)
}

#[test]
fn objects_without_content_do_not_differ() {
    let mut rig = Rig::new(2048 * 4);
    let volume = rig.create(70_000);
    let (base, new) = (rig.snapshot(volume), rig.snapshot(volume));
    assert_eq!((rig.difference(base, new), rig.difference(None, new)), Default::default());
}

#[test]
fn equal_snapshots_do_not_differ_and_no_page_of_theirs_is_read() {
    let mut rig = Rig::new(2048 * 4);
    let volume = rig.create(70_000);
    rig.write(volume, 0, 2000, 1).unwrap();
    let (base, new) = (rig.snapshot(volume), rig.snapshot(volume));
    rig.with_nothing_in_memory();
    let before = rig.reads();
    assert!(rig.difference(base, new).is_empty());
    assert_eq!(rig.reads(), before);
    assert_eq!(data(&rig.difference(None, new)), (0..2000).collect::<Vec<_>>());
}

#[test]
fn one_block_is_found_with_its_checksum_and_the_pages_on_its_path_are_read() {
    let mut rig = Rig::new(2048 * 8);
    // Three levels; 40 leaves, and the one that changes is among them.
    let volume = rig.create(70_000);
    rig.write(volume, 0, 40 * 256, 1).unwrap();
    let base = rig.snapshot(volume);
    rig.write(volume, 5000, 1, 2).unwrap();
    let new = rig.snapshot(volume);
    for reopened in [false, true] {
        if reopened {
            rig.with_nothing_in_memory();
        }
        let before = rig.reads();
        let changes = rig.difference(base, new);
        let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &[2; BLOCK as usize]) as u32;
        assert_eq!(changes, Changes::from([(5000, Change::Data(crc))]));
        // Three pages of each map, and counts.
        assert!(rig.reads() - before <= 9, "{} reads", rig.reads() - before);
    }
}

#[test]
fn zeroed_and_deallocated_blocks_are_zeros_and_holes_are_nothing() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(70_000);
    rig.write(volume, 10, 20, 1).unwrap();
    rig.write(volume, 256, 1024, 1).unwrap();
    let base = rig.snapshot(volume);
    rig.zero(volume, 0, 15).unwrap();
    rig.zero(volume, 300, 700).unwrap();
    rig.write(volume, 29, 2, 2).unwrap();
    let new = rig.snapshot(volume);
    let changes = rig.difference(base, new);
    assert_eq!(zeros(&changes), (10..15).chain(300..1000).collect::<Vec<_>>());
    assert_eq!(data(&changes), [29, 30]);
    // The other way round, what was zeroed is data again.
    let back = rig.difference(new, base);
    assert_eq!(data(&back), (10..15).chain([29]).chain(300..1000).collect::<Vec<_>>());
    assert_eq!(zeros(&back), [30]);
}

#[test]
fn a_large_range_that_was_deallocated_is_found_without_reading_its_leaves() {
    let mut rig = Rig::new(2048 * 12);
    let volume = rig.create(70_000);
    rig.write(volume, 0, 32 * 256, 1).unwrap();
    let base = rig.snapshot(volume);
    rig.zero(volume, 0, 32 * 256).unwrap();
    let new = rig.snapshot(volume);
    rig.with_nothing_in_memory();
    let before = rig.reads();
    assert_eq!(zeros(&rig.difference(base, new)), (0..32 * 256).collect::<Vec<_>>());
    assert!(rig.reads() - before <= 6, "{} reads", rig.reads() - before);
}

#[test]
fn a_resized_volume_is_compared_from_its_first_block_up_to_its_new_end() {
    for (before, after) in [(200, 70_000), (70_000, 200), (300, 200), (200, 300), (70_000, 69_000)] {
        let mut rig = Rig::new(2048 * 8);
        let volume = rig.create(before);
        rig.write(volume, 0, before.min(300), 1).unwrap();
        let base = rig.snapshot(volume);
        rig.resize(volume, after);
        rig.write(volume, 3, 1, 2).unwrap();
        let mut expected = vec![3];
        if after > before {
            rig.write(volume, after - 5, 5, 3).unwrap();
            expected.extend(after - 5..after);
        }
        let new = rig.snapshot(volume);
        let changes = rig.difference(base, new);
        assert_eq!((data(&changes), zeros(&changes)), (expected, vec![]), "{before} to {after}");
        let mapped = rig.difference(None, new);
        assert!(data(&mapped).into_iter().all(|block| block < after));
    }
}

#[test]
fn zeros_end_with_the_new_object() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(1024);
    rig.write(volume, 0, 1024, 1).unwrap();
    let base = rig.snapshot(volume);
    let other = rig.create(700);
    let new = rig.snapshot(other);
    assert_eq!(zeros(&rig.difference(base, new)), (0..700).collect::<Vec<_>>());
    rig.write(other, 699, 1, 1).unwrap();
    let new = rig.snapshot(other);
    let changes = rig.difference(base, new);
    assert_eq!((zeros(&changes), data(&changes)), ((0..699).collect(), vec![699]));
}

#[test]
fn what_was_cloned_from_elsewhere_differs_and_what_is_shared_with_the_base_does_not() {
    let mut rig = Rig::new(2048 * 8);
    let (volume, template) = (rig.create(1024), rig.create(1024));
    rig.write(volume, 0, 1024, 1).unwrap();
    rig.write(template, 0, 1024, 1).unwrap();
    let base = rig.snapshot(volume);
    // The same content at other addresses.
    rig.copy((template, 0), (volume, 256), 256).unwrap();
    // The blocks that are there already.
    rig.copy((base, 512), (volume, 512), 200).unwrap();
    rig.copy((base, 700), (volume, 900), 10).unwrap();
    let new = rig.snapshot(volume);
    let changes = rig.difference(base, new);
    assert_eq!(data(&changes), (256..512).chain(900..910).collect::<Vec<_>>());
    // A clone against its parent: only its own blocks.
    let clone = rig.clone_of(base, ObjectKind::Volume).unwrap();
    rig.write(clone, 40, 2, 7).unwrap();
    let of_clone = rig.snapshot(clone);
    assert_eq!(data(&rig.difference(base, of_clone)), [40, 41]);
}

#[test]
fn shared_blocks_and_sub_trees_are_named() {
    let mut rig = Rig::new(2048 * 8);
    let (volume, other) = (rig.create(2048), rig.create(2048));
    rig.write(volume, 0, 1024, 1).unwrap();
    rig.copy((volume, 256), (other, 512), 256).unwrap();
    rig.copy((volume, 3), (other, 1000), 2).unwrap();
    let new = rig.snapshot(volume);
    let (of_volume, of_other) = (rig.begin(None, new), rig.snapshot(other));
    let of_other = rig.begin(None, of_other);
    let (step, elsewhere) = (all_of(&mut rig, of_volume), all_of(&mut rig, of_other));
    let leaf = |step: &DifferenceStep, first: u64| {
        step.shared_trees.iter().find(|tree| tree.level == 0 && tree.range.first.get() == first).copied()
    };
    let tree = leaf(&step, 256).expect("the second leaf is shared");
    assert_eq!(leaf(&elsewhere, 512).map(|tree| tree.page), Some(tree.page));
    assert_eq!((tree.range.count, leaf(&step, 512)), (256, None));
    let blocks = |step: &DifferenceStep| -> BTreeMap<u64, pool::ChangedBlock> {
        let data = step.runs.iter().flat_map(|run| match &run.content {
            ChangedContent::Data(blocks) => (run.first.get()..).zip(blocks.clone()).collect::<Vec<_>>(),
            ChangedContent::Zero(_) => Vec::new(),
        });
        data.collect()
    };
    let (blocks, elsewhere) = (blocks(&step), blocks(&elsewhere));
    let shared: Vec<u64> = blocks.iter().filter(|(_, block)| block.is_shared).map(|(at, _)| *at).collect();
    assert_eq!(shared, [3, 4]);
    assert_eq!((elsewhere[&1000].block, elsewhere[&512].block), (blocks[&3].block, blocks[&256].block));
}

/// All steps of a difference as one.
fn all_of(rig: &mut Rig, difference: DifferenceId) -> DifferenceStep {
    let (mut all, mut next) = (DifferenceStep::default(), Some(BlockNumber::FIRST));
    while let Some(from) = next {
        let step = rig.step(difference, from.get()).unwrap();
        all.runs.extend(step.runs);
        all.shared_trees.extend(step.shared_trees);
        next = step.next;
    }
    all
}

#[test]
fn a_difference_continues_at_any_block() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(70_000);
    rig.write(volume, 0, 3000, 1).unwrap();
    let base = rig.snapshot(volume);
    rig.write(volume, 100, 1500, 2).unwrap();
    rig.zero(volume, 2000, 500).unwrap();
    let new = rig.snapshot(volume);
    let changes = rig.difference(base, new);
    let difference = rig.begin(base, new);
    for from in [0, 99, 100, 101, 255, 256, 1599, 1600, 2003, 2499, 2500, 65_535, 65_536, 69_999, 70_000, 1 << 40] {
        let mut found = Changes::new();
        let mut next = Some(from);
        while let Some(from) = next {
            let step = rig.step(difference, from).unwrap();
            for run in &step.runs {
                let blocks = run.first.get()..run.first.get() + run.range().count;
                found.extend(blocks.map(|block| (block, changes[&block])));
            }
            next = step.next.map(BlockNumber::get);
        }
        assert_eq!(found, changes.range(from..).map(|(at, change)| (*at, *change)).collect(), "from {from}");
    }
}

#[test]
fn hosts_and_checkpoints_between_the_steps_change_nothing() {
    let mut rig = Rig::with_memory(256 << 10);
    let volume = rig.create(70_000);
    rig.write(volume, 0, 8 * 256, 1).unwrap();
    let base = rig.snapshot(volume);
    for leaf in 0..8 {
        rig.write(volume, leaf * 256 + leaf, 3, 2).unwrap();
    }
    let new = rig.snapshot(volume);
    let expected: Vec<u64> = (0..8).flat_map(|leaf| (0..3).map(move |at| leaf * 257 + at)).collect();
    let (mut round, other) = (0, rig.create(70_000));
    let changes = rig.difference_with(base, new, |rig| {
        round += 1;
        rig.write(volume, round * 300 % 2000, 40, 3).unwrap();
        rig.write(other, round * 256, 300, 4).unwrap();
        rig.zero(volume, round * 7 % 2000, 1).unwrap();
        if round % 2 == 0 {
            rig.core.request_checkpoint();
            rig.core.pump(1);
        } else {
            rig.core.checkpoint().unwrap();
        }
    });
    assert!(round >= 8, "a step compares few pages: {round}");
    assert_eq!((data(&changes), zeros(&changes)), (expected, vec![]));
    rig.assert_clean();
}

#[test]
fn a_difference_in_a_pool_that_keeps_few_pages_in_memory_ends() {
    let mut rig = Rig::with_memory(64 << 10);
    // Four levels each; more pages than fit into memory.
    let volume = rig.create(1 << 25);
    for part in 0..30 {
        rig.write(volume, part * 70_000, 300, 1).unwrap();
    }
    let base = rig.snapshot(volume);
    for part in 0..30 {
        rig.write(volume, part * 70_000, 300, 2).unwrap();
    }
    let new = rig.snapshot(volume);
    let changes = rig.difference_with(base, new, |rig| rig.write(volume, 1 << 24, 2, 3).unwrap());
    assert_eq!(data(&changes), (0..30).flat_map(|part| part * 70_000..part * 70_000 + 300).collect::<Vec<_>>());
}

#[test]
fn a_difference_ends_when_an_object_that_it_compares_is_deleted_or_replaced() {
    let ends = |change: &dyn Fn(&mut Rig, ObjectId, ObjectId, ObjectId)| {
        [0, 1].map(|side| {
            let mut rig = Rig::new(2048 * 8);
            let volume = rig.create(70_000);
            rig.write(volume, 0, 8 * 256, 1).unwrap();
            let base = rig.snapshot(volume);
            rig.write(volume, 0, 8 * 256, 2).unwrap();
            let new = rig.snapshot(volume);
            let unrelated = rig.snapshot(volume);
            let difference = rig.begin(base, new);
            let step = rig.step(difference, 0).unwrap();
            let next = step.next.unwrap().get();
            change(&mut rig, [base, new][side], volume, unrelated);
            rig.step(difference, next).map(drop).map_err(|failure| failure == ended([base, new][side]))
        })
    };
    let delete = ends(&|rig, object, _, _| rig.delete(object));
    let roll_back = ends(&|rig, object, _, unrelated| {
        rig.change(CatalogChange::Rollback { id: object, source: unrelated }).unwrap()
    });
    let resize = ends(&|rig, object, _, _| rig.resize(object, 512));
    assert_eq!([delete, roll_back, resize], [[Err(true), Err(true)]; 3]);
    // What happens to others is nothing to it.
    let others = ends(&|rig, _, volume, unrelated| {
        rig.delete(unrelated);
        rig.resize(volume, 256);
        rig.delete(volume);
    });
    assert_eq!(others, [Ok(()), Ok(())]);
}

fn ended(object: ObjectId) -> Failure {
    Failure::Pool(PoolError::DifferenceEnded(object))
}

#[test]
fn a_difference_ends_in_the_middle_of_a_step() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(70_000);
    rig.write(volume, 0, 8 * 256, 1).unwrap();
    let (base, _) = (rig.snapshot(volume), rig.write(volume, 0, 8 * 256, 2));
    let new = rig.snapshot(volume);
    let difference = rig.begin(base, new);
    // Submitted, and not yet attempted: that takes a background turn.
    let id = rig.core.submit(Operation::DifferenceStep { difference, from: BlockNumber::FIRST });
    rig.core.pump(0);
    assert!(rig.take(id).is_none());
    rig.core.submit(Operation::Catalog(vec![CatalogChange::DeleteObject { id: base }]));
    rig.core.pump(1);
    assert_eq!(rig.take(id).map(|(_, result)| result), Some(Err(ended(base))));
    rig.core.end_difference(difference);
    assert!(rig.step(difference, 0).is_err());
}

#[test]
fn a_capture_is_compared_until_it_takes_more() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(1024);
    rig.write(volume, 0, 1024, 1).unwrap();
    let capture = rig.create_capture(1024);
    let take = |rig: &mut Rig, first: u64| {
        let ranges = vec![pool::BlockRange::new(BlockNumber::new(first), 10)];
        rig.run(Operation::Capture { source: volume, capture, ranges }).unwrap();
    };
    take(&mut rig, 500);
    let snapshot = rig.snapshot(volume);
    assert_eq!(data(&rig.difference(None, capture)), (500..510).collect::<Vec<_>>());
    assert_eq!(zeros(&rig.difference(snapshot, capture)), (0..500).chain(510..1024).collect::<Vec<_>>());
    let difference = rig.begin(snapshot, capture);
    take(&mut rig, 20);
    assert_eq!(rig.step(difference, 0), Err(ended(capture)));
}

#[test]
fn volumes_and_objects_that_do_not_exist_are_refused() {
    let mut rig = Rig::new(2048 * 4);
    let volume = rig.create(1024);
    let snapshot = rig.snapshot(volume);
    let nothing = rig.core.new_object_id();
    for (base, new, refused) in [
        (Some(snapshot), volume, PoolError::NoSnapshot(volume)),
        (Some(volume), snapshot, PoolError::NoSnapshot(volume)),
        (None, nothing, PoolError::NoSuchObject(nothing)),
        (Some(nothing), snapshot, PoolError::NoSuchObject(nothing)),
        (Some(ObjectId(3)), snapshot, PoolError::NoSuchObject(ObjectId(3))),
    ] {
        assert_eq!(rig.core.begin_difference(base, new), Err(refused));
    }
}

#[test]
fn an_unreadable_page_is_named_after_what_was_found_before_it() {
    let mut rig = Rig::new(2048 * 8);
    let volume = rig.create(70_000);
    rig.write(volume, 0, 1024, 1).unwrap();
    let base = rig.snapshot(volume);
    for leaf in 0..4 {
        rig.write(volume, leaf * 256, 1, 2).unwrap();
    }
    let new = rig.snapshot(volume);
    // The path to the last leaf is copied: both maps name the other leaves now.
    rig.write(volume, 768, 1, 3).unwrap();
    rig.with_nothing_in_memory();
    let pages = stored_leaves(&rig, new);
    let fault = |page| Fault::sticky(FaultOperation::Read, FaultEffect::Error).on_blocks(page..page + 1);
    rig.disk.plant(fault(pages[&512]));
    let difference = rig.begin(base, new);
    let (mut found, mut next) = (Vec::new(), 0);
    let failure = loop {
        match rig.step(difference, next) {
            Ok(step) => {
                found.extend(step.runs.iter().map(|run| run.first.get()));
                next = step.next.expect("the page is on the way").get();
            }
            Err(failure) => break failure,
        }
    };
    assert_eq!((found, next), (vec![0, 256], 512));
    let expected = format!("object {new}, blocks 512 to 767: ");
    assert!(
        matches!(&failure, Failure::Pool(PoolError::Damaged(reason)) if reason.starts_with(&expected)),
        "{failure}"
    );
    // Behind it, the difference goes on.
    let step = rig.step(difference, 768).unwrap();
    assert_eq!(step.runs.iter().map(|run| run.first.get()).collect::<Vec<_>>(), [768]);
}

/// Addresses of the shared leaves of an object, by first block.
fn stored_leaves(rig: &Rig, object: ObjectId) -> BTreeMap<u64, u64> {
    let media = LocalMedia::open(rig.disk.clone()).unwrap();
    let (mut core, _) = Core::open(media, options(99), &mut |_| {}).unwrap();
    let difference = core.begin_difference(None, object).unwrap();
    let mut leaves = BTreeMap::new();
    let mut next = Some(BlockNumber::FIRST);
    while let Some(from) = next {
        let id = core.submit(Operation::DifferenceStep { difference, from });
        let step = loop {
            core.pump(1);
            match core.poll_finished() {
                Some((found, Ok(Output::Difference(step)))) if found == id => break step,
                Some(other) => panic!("{other:?}"),
                None => core.wait(),
            }
        };
        let trees = step.shared_trees.iter().filter(|tree| tree.level == 0);
        leaves.extend(trees.map(|tree| (tree.range.first.get(), tree.page.0)));
        next = step.next;
    }
    leaves
}

/// Content of each block, by a number for each write; 0 is none.
type Contents = Vec<u64>;

/// Runs a random history, and compares pairs of snapshots in the middle of it.
fn history(seed: u64) {
    let n = Random::new(seed);
    let mut rig = Rig::with_memory([64 << 10, 1 << 20][n.index(2)]);
    let size = 1200;
    let mut volumes = vec![(rig.create(size), vec![0; size as usize])];
    let mut snapshots: Vec<(ObjectId, Contents)> = Vec::new();
    let mut written = 0;
    let mut change = |rig: &mut Rig, volumes: &mut Vec<(ObjectId, Contents)>| {
        let (from, to) = (n.index(volumes.len()), n.index(volumes.len()));
        let length = [1, 4, 256, 300][n.index(4)];
        let mut start = n.below(size - length);
        if n.chance(40) {
            start = start / 256 * 256;
        }
        let range = start as usize..(start + length) as usize;
        match n.below(9) {
            0..=3 => {
                written += 1;
                rig.write(volumes[to].0, start, length, written as u8 | 1).unwrap();
                for (at, block) in range.clone().zip(&mut volumes[to].1[range]) {
                    *block = written << 16 | at as u64;
                }
            }
            4 | 5 => {
                rig.zero(volumes[to].0, start, length).unwrap();
                volumes[to].1[range].fill(0);
            }
            6 => {
                let target = if n.chance(60) { (start + 256) % 900 } else { n.below(size - length) };
                rig.copy((volumes[from].0, start), (volumes[to].0, target), length).unwrap();
                let copied = volumes[from].1[range].to_vec();
                volumes[to].1[target as usize..(target + length) as usize].copy_from_slice(&copied);
            }
            7 => rig.core.checkpoint().unwrap(),
            _ if volumes.len() < 3 => {
                let clone = rig.clone_of(volumes[from].0, ObjectKind::Volume).unwrap();
                volumes.push((clone, volumes[from].1.clone()));
            }
            _ => rig.core.request_checkpoint(),
        }
    };
    for _ in 0..6 {
        for _ in 0..n.below(12) {
            change(&mut rig, &mut volumes);
        }
        let (volume, contents) = &volumes[n.index(volumes.len())];
        snapshots.push((rig.snapshot(*volume), contents.clone()));
        let ((base, before), (new, after)) =
            (&snapshots[n.index(snapshots.len())], &snapshots[n.index(snapshots.len())]);
        let found = rig.difference_with(*base, *new, |rig| change(rig, &mut volumes));
        // Each write has blocks of its own, so that equal content is equal addresses.
        let expected = (0..size).filter(|at| before[*at as usize] != after[*at as usize]);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "seed {seed}");
        assert!(
            found.iter().all(|(at, change)| (*change == Change::Zero) == (after[*at as usize] == 0)),
            "seed {seed}"
        );
    }
    rig.assert_clean();
}

#[test]
fn a_difference_is_what_differs_in_200_histories() {
    (0..200).for_each(history);
}
