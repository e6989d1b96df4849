//! Patches: a transaction that edits a part of a block logs no more than that part.

use crate::common::{BLOCK, Rig, options};
use media::{FEATURE_PATCHES, LocalMedia, RootStore};
use pool::{BlockNumber, ObjectId, ObjectKind, Options, Shown};

/// Bytes of an edit, and the distance between two.
const EDIT: usize = 16;

fn field<'a>(shown: &'a Shown, name: &str) -> &'a Shown {
    let Shown::Fields(fields) = shown else { panic!("{shown:?} has no fields") };
    let found = fields.iter().find(|(field, _)| *field == name);
    found.map_or_else(|| panic!("{shown:?} has no {name}"), |(_, value)| value)
}

fn list(shown: &Shown) -> &[Shown] {
    let Shown::List(list) = shown else { panic!("{shown:?} is not a list") };
    list
}

impl Rig {
    /// Kinds of the last `most` records that replay would apply.
    fn kinds(&self, most: usize) -> Vec<String> {
        let mut media = LocalMedia::open(self.disk.clone()).unwrap();
        let log = pool::show_log(&mut media, usize::MAX).unwrap();
        let records = list(field(&log, "frames")).iter().flat_map(|frame| list(field(frame, "records")));
        let kinds = records.map(|record| match field(record, "kind") {
            Shown::Text(kind) => kind.clone(),
            other => panic!("{other:?}"),
        });
        let kinds: Vec<String> = kinds.collect();
        kinds[kinds.len().saturating_sub(most)..].to_vec()
    }

    /// Fills the `place`th part of a block.
    fn edit(&mut self, object: ObjectId, block: u64, place: usize, byte: u8) {
        let bytes = place * EDIT..(place + 1) * EDIT;
        self.together(move |view| {
            view.edit(object, BlockNumber::new(block), bytes.clone())?.fill(byte);
            Ok(())
        })
        .unwrap();
    }

    /// Bytes of a block at the beginning of its parts.
    fn places<const N: usize>(&mut self, object: ObjectId, block: u64) -> [u8; N] {
        let content = self.read(object, block, 1).unwrap();
        std::array::from_fn(|place| content[place * EDIT])
    }
}

/// Pool whose superblock says that its log may hold patches, with a volume.
fn patching() -> (Rig, ObjectId) {
    let mut rig = Rig::new(8192);
    let object = rig.create(1000);
    rig.write(object, 0, 8, 1).unwrap();
    rig.edit(object, 0, 0, 1);
    rig.settle();
    assert_ne!(rig.core.media().features() & FEATURE_PATCHES, 0);
    (rig, object)
}

#[test]
fn the_superblock_says_that_there_may_be_patches_before_the_first_one() {
    let mut rig = Rig::new(8192);
    let object = rig.create(1000);
    rig.write(object, 0, 1, 1).unwrap();
    assert_eq!(rig.core.media().features() & FEATURE_PATCHES, 0);
    for place in 0..3 {
        rig.edit(object, 0, place, 2);
        assert_eq!(rig.kinds(1), ["write"]);
    }
    rig.core.checkpoint().unwrap();
    for place in 0..2 {
        rig.edit(object, 0, place, 3);
    }
    assert_ne!(rig.core.media().features() & FEATURE_PATCHES, 0);
    assert_eq!(rig.kinds(1), ["patch"]);
}

#[test]
fn the_first_edit_since_a_checkpoint_logs_the_block_and_later_ones_log_what_they_edit() {
    let (mut rig, object) = patching();
    for round in 0..3 {
        for edit in 0..4 {
            rig.edit(object, 3, edit, 10 * round + 2);
        }
        assert_eq!(rig.kinds(4), ["write", "patch", "patch", "patch"]);
        let mut after = rig.crash();
        assert_eq!(after.places(object, 3), [10 * round + 2; 4]);
        // What replay has found in the log is there to build on.
        after.edit(object, 3, 4, 10 * round + 3);
        assert_eq!(after.kinds(2), ["patch", "patch"]);
        rig = after.crash();
        let (old, new) = (10 * round + 2, 10 * round + 3);
        assert_eq!(rig.places(object, 3), [old, old, old, old, new]);
        rig.assert_clean();
        rig.core.checkpoint().unwrap();
    }
}

#[test]
fn a_patch_is_a_small_part_of_a_block() {
    let (mut rig, object) = patching();
    rig.edit(object, 2, 0, 2);
    let bytes = rig.core.log_used_bytes();
    rig.together(move |view| {
        for (block, at) in [(2, 0), (2, 100), (2, 4090)] {
            view.edit(object, BlockNumber::new(block), at..at + 6)?.fill(3);
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(rig.core.log_used_bytes() - bytes, BLOCK, "a frame is at least a block");
    assert_eq!(rig.kinds(1), ["patch"]);
    // Much of a block, and all of it.
    for bytes in [0..2049, 0..4096] {
        rig.together(move |view| {
            view.edit(object, BlockNumber::new(2), bytes.clone())?.fill(4);
            Ok(())
        })
        .unwrap();
        assert_eq!(rig.kinds(1), ["write"]);
    }
}

#[test]
fn a_shared_block_is_not_patched() {
    let (mut rig, object) = patching();
    rig.edit(object, 2, 0, 2);
    let snapshot = rig.clone_of(object, ObjectKind::Snapshot).unwrap();
    rig.edit(object, 2, 1, 3);
    assert_eq!(rig.kinds(1), ["write"]);
    rig.edit(object, 2, 2, 4);
    assert_eq!(rig.kinds(1), ["patch"]);
    let mut rig = rig.crash();
    assert_eq!((rig.places(object, 2), rig.places(snapshot, 2)), ([2, 3, 4, 1], [2, 1, 1, 1]));
    rig.assert_clean();
}

#[test]
fn a_block_that_the_same_transaction_shares_or_replaces_is_not_patched() {
    let (mut rig, object) = patching();
    for block in [2, 3] {
        rig.edit(object, block, 0, 2);
    }
    let at = BlockNumber::new;
    rig.together(move |view| {
        view.edit(object, at(2), 0..EDIT)?.fill(5);
        view.clone_blocks((object, at(2)), (object, at(500)), 1)?;
        view.clone_blocks((object, at(6)), (object, at(3)), 1)?;
        view.edit(object, at(3), EDIT..2 * EDIT)?.fill(6);
        Ok(())
    })
    .unwrap();
    assert!(!rig.kinds(5).contains(&"patch".to_owned()));
    let mut rig = rig.crash();
    assert_eq!([rig.places(object, 2), rig.places(object, 500), rig.places(object, 3)], [[5, 1], [5, 1], [1, 6]]);
    rig.assert_clean();
}

#[test]
fn recovery_writes_content_to_its_place_where_no_checkpoint_may_be() {
    let mut rig = Rig::with_log(16384, 32 << 20);
    let object = rig.create(4000);
    rig.write(object, 0, 1, 1).unwrap();
    rig.edit(object, 0, 0, 1);
    rig.settle();
    // All blocks become images, then all are patched: there is no place for a checkpoint in between.
    for place in 0..2 {
        for first in (0..200).step_by(50) {
            rig.together(move |view| {
                let bytes = place * EDIT..(place + 1) * EDIT;
                let mut edit =
                    |block| view.edit(object, BlockNumber::new(block), bytes.clone()).map(|edit| edit.fill(2));
                (first..first + 50).try_for_each(&mut edit)
            })
            .unwrap();
        }
    }
    let patches = rig.kinds(usize::MAX).iter().filter(|kind| *kind == "patch").count();
    assert_eq!(patches, 200);
    let small = Options { memory_bytes: 512 << 10, ..options(2) };
    let mut again = Rig::on(rig.disk.crash(), small).unwrap();
    let counters = again.core.counters();
    assert!(counters.destaged >= 300, "{} blocks at their places", counters.destaged);
    for block in 0..200 {
        assert_eq!(again.places(object, block), [2, 2, u8::from(block == 0)]);
    }
    again.assert_clean();
}
