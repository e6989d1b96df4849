//! A share as a whole: when it is empty, access times, space in the meta class.

use super::{ROOT_ATTRIBUTES, end, new_share, reopened};
use crate::memory::MOST_ACCESSED;
use crate::testing::MemoryEngine;
use crate::testing::world::{good, name};
use crate::{Durability, Engine, Files, Outcome, Root, View};
use vfs::{
    Call, Caller, Cookie, Exclusive, Expect, FileId, FileSystem, FsError, Kind, New, NewKind, Place, Removes,
    SetAttributes, Source, SpaceReason, Stability, Timestamp,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::new(seconds, 0).unwrap_or_default()
}

pub(super) fn create(share: &Files<MemoryEngine>, directory: FileId, number: u8, kind: Kind) -> FileId {
    let what = match kind {
        Kind::Directory => NewKind::Directory,
        _ => NewKind::File { exclusive: Exclusive::No, hold: false },
    };
    let caller = Caller::root();
    let new = New { what, attributes: SetAttributes::default() };
    good(end(share.create(Call::new(&caller, at(5)), directory, &name(number), &new))).file.file
}

pub(super) fn write(share: &Files<MemoryEngine>, file: FileId, offset: u64, data: &[u8]) {
    let (caller, data) = (Caller::root(), bytes::Bytes::copy_from_slice(data));
    good(end(share.write(Call::new(&caller, at(6)), file, offset, data.into(), Stability::Durable)));
}

#[test]
fn an_object_without_content_is_an_empty_share() {
    let engine = MemoryEngine::new(1, true);
    let root = Root { mode: 0o751, user: 5, group: 6, born: at(77) };
    let share = Files::open(engine.clone(), engine.create(), root, false);
    let attributes = good(end(share.attributes(share.root())));
    assert_eq!((attributes.mode, attributes.user, attributes.group, attributes.links), (0o751, 5, 6, 2));
    assert_eq!([attributes.modified, attributes.changed, attributes.born], [at(77); 3]);
    let caller = Caller::root();
    let call = Call::new(&caller, at(80));
    assert_eq!(end(share.lookup(call, share.root(), &name(1))), Err(FsError::NotFound));
    assert!(good(end(share.read_directory(call, share.root(), Cookie::START, 9, false))).end);
    assert_eq!((end(share.check()), end(share.drop_unheld())), (Ok(vec![]), Ok(0)));
    assert_eq!(engine.mapped(share.object()), [] as [u64; 0], "looks store nothing");
    create(&share, share.root(), 1, Kind::File);
    let after = good(end(share.attributes(share.root())));
    assert_eq!((after.mode, after.user, after.born), (0o751, 5, at(77)));
}

#[test]
fn reserved_numbers_are_no_files() {
    let share = new_share(&MemoryEngine::new(1, false));
    create(&share, share.root(), 1, Kind::File);
    for number in [0, 1, 3, 15, 17, 1 << 40, u64::MAX] {
        assert_eq!(end(share.attributes(FileId(number))), Err(FsError::Stale), "{number}");
    }
}

#[test]
fn access_times_are_written_with_the_next_change_or_on_demand() {
    let engine = MemoryEngine::new(1, true);
    let share = new_share(&engine);
    let files = [1, 2, 3].map(|number| create(&share, share.root(), number, Kind::File));
    let caller = Caller::root();
    for file in files {
        write(&share, file, 0, b"content");
        good(end(share.read(Call::new(&caller, at(50)), file, 0, 9)));
        assert_eq!(good(end(share.attributes(file))).accessed, at(50));
    }
    write(&share, files[0], 0, b"new content");
    engine.restart(0);
    let share = reopened(&engine, &share);
    let accessed = |share: &Files<MemoryEngine>| files.map(|file| good(end(share.attributes(file))).accessed);
    assert_eq!(accessed(&share), [at(50), at(5), at(5)]);
    good(end(share.read(Call::new(&caller, at(60)), files[1], 0, 9)));
    good(end(share.write_access_times()));
    good(end(share.commit(files[0])));
    engine.restart(0);
    assert_eq!(accessed(&reopened(&engine, &share)), [at(50), at(60), at(5)]);
}

/// Reads wrote the access times of other files once many were in memory, and again and again in a full pool.
#[test]
fn a_read_writes_no_access_times() {
    let engine = MemoryEngine::new(1, false);
    let share = new_share(&engine);
    let (caller, what) = (Caller::root(), NewKind::File { exclusive: Exclusive::No, hold: false });
    let new = New { what, attributes: SetAttributes::default() };
    let mut files = Vec::new();
    for number in 0..MOST_ACCESSED + 3 {
        let name = good(vfs::Name::try_from(&number.to_string()[..]).map_err(FsError::from));
        files.push(good(end(share.create(Call::new(&caller, at(5)), share.root(), &name, &new))).file.file);
    }
    for file in &files {
        good(end(share.read(Call::new(&caller, at(50)), *file, 0, 9)));
    }
    let accessed = |at: usize| good(end(share.attributes(files[at]))).accessed;
    assert_eq!(engine.pending(), 0, "a look names no change");
    assert_eq!((accessed(0), accessed(MOST_ACCESSED - 1), accessed(MOST_ACCESSED)), (at(50), at(50), at(5)));
    good(end(share.write_access_times()));
    good(end(share.read(Call::new(&caller, at(60)), files[MOST_ACCESSED], 0, 9)));
    assert_eq!((accessed(0), accessed(MOST_ACCESSED)), (at(50), at(60)));
    good(engine.snapshot(share.object()).map_err(|error| FsError::Stopped { reason: error.to_string() }));
    engine.leave(0);
    assert_eq!(end(share.write_access_times()), Err(FsError::NoSpace(SpaceReason::Pool)));
    assert_eq!((accessed(0), accessed(MOST_ACCESSED)), (at(50), at(5)), "a time that cannot be stored is dropped");
    assert_eq!(end(share.write_access_times()), Ok(()));
}

#[test]
fn a_creation_changes_few_blocks() {
    let engine = MemoryEngine::new(1, false);
    let share = new_share(&engine);
    create(&share, share.root(), 1, Kind::File);
    // Super block, two blocks of inodes, the leaf of the root.
    assert_eq!(engine.mapped(share.object()).len(), 4);
    let pending = |share: &Files<MemoryEngine>| good(end(share.capacity())).free_files;
    let before = pending(&share);
    create(&share, share.root(), 2, Kind::File);
    assert_eq!((engine.mapped(share.object()).len(), pending(&share)), (4, before));
}

#[test]
fn numbers_run_out_below_the_high_water_and_are_raised() {
    let engine = MemoryEngine::new(3, true);
    let share = new_share(&engine);
    let directory = create(&share, share.root(), 1, Kind::Directory);
    let mut last = directory;
    for _ in 0..2500 {
        let file = create(&share, directory, 2, Kind::File);
        assert!(file > last);
        last = file;
        let (caller, name) = (Caller::root(), name(2));
        let from = vfs::Place { directory, name: &name };
        let call = Call::new(&caller, at(9));
        good(end(share.remove(call, from, vfs::Removes::Anything, vfs::Expect::Anything)));
    }
    assert!(last.0 >= 2500 && last.0 < 2600, "{last:?}");
    engine.restart(0);
    let share = reopened(&engine, &share);
    assert!(create(&share, directory, 2, Kind::File) > last);
    assert_eq!(end(share.check()), Ok(vec![]));
}

#[test]
fn an_attempt_that_names_nothing_changes_nothing() {
    let engine = MemoryEngine::new(1, false);
    let object = engine.create();
    let attempt = |view: &mut dyn View| {
        view.edit(object, 5, 0..3)?.fill(7);
        view.zero(object, 0..4096);
        Ok(Outcome::Nothing(()))
    };
    assert_eq!(end(engine.run(Durability::Durable, attempt, |_, ()| ())), Ok(()));
    assert_eq!(engine.mapped(object), [] as [u64; 0]);
}

#[test]
fn a_change_after_a_roll_back_is_later_whatever_the_clock_says() {
    let engine = MemoryEngine::new(1, true);
    let share = new_share(&engine);
    let file = create(&share, share.root(), 1, Kind::File);
    let snapshot = engine.snapshot(share.object()).map_err(|error| FsError::Stopped { reason: error.to_string() });
    let snapshot = Files::open(engine.clone(), good(snapshot), ROOT_ATTRIBUTES, true);
    good(end(share.roll_back(&snapshot, at(500))));
    let before = good(end(share.attributes(file)));
    assert_eq!(before.changed, at(500));
    write(&share, file, 0, b"at second 6");
    let after = good(end(share.attributes(file)));
    assert!(after.changed > before.changed && after.change > before.change);
    assert_eq!(end(share.check()), Ok(vec![]));
}

/// A roll-back to an unchanged share stored a key of zeros, which stayed: names of equal hash could be computed.
#[test]
fn a_roll_back_to_a_share_without_content_keeps_a_secret_key() {
    let engine = MemoryEngine::new(1, true);
    let key = |share: &Files<MemoryEngine>| good(end(share.look(|share| share.super_block()))).hash_key;
    let (share, unchanged) = (new_share(&engine), new_share(&engine));
    create(&share, share.root(), 1, Kind::File);
    let own = key(&share);
    good(end(share.roll_back(&unchanged, at(500))));
    assert_eq!((key(&share), end(share.check())), (own, Ok(vec![])));
    let (share, other) = (new_share(&engine), new_share(&engine));
    good(end(share.roll_back(&unchanged, at(500))));
    good(end(other.roll_back(&unchanged, at(500))));
    assert!(key(&share) != key(&other) && key(&share) != [0; 16] && key(&other) != [0; 16]);
    create(&share, share.root(), 1, Kind::File);
    assert_eq!(end(share.check()), Ok(vec![]));
}

#[test]
fn a_clone_within_a_file_that_moves_takes_the_content_along() {
    let engine = MemoryEngine::new(1, true);
    let share = new_share(&engine);
    let file = create(&share, share.root(), 1, Kind::File);
    write(&share, file, 0, &[7; 8192]);
    let caller = Caller::root();
    for to in [65_536, 1 << 20, 1 << 28, 1 << 36] {
        let source = Source { file_system: &share, file, offset_bytes: 0, length_bytes: Some(8192) };
        good(end(share.clone_range(Call::new(&caller, at(9)), source, file, to)));
        for offset in [0, to] {
            let read = good(end(share.read(Call::new(&caller, at(9)), file, offset, 8192)));
            assert!(read.into_bytes()[..] == [7; 8192], "clone to {to}, at {offset}");
        }
        assert_eq!(end(share.check()), Ok(vec![]));
    }
    assert_eq!(good(end(share.space(file))).freed_bytes, 8192);
}

/// A clone of a large file by one block shared each block by itself, all in one step.
#[test]
fn a_clone_of_many_entries_takes_many_steps_and_a_copy_continues() {
    let engine = MemoryEngine::new(1, true);
    let share = new_share(&engine);
    let [from, to] = [1, 2].map(|number| create(&share, share.root(), number, Kind::File));
    let size = 15 << 40;
    write(&share, from, 0, b"start");
    write(&share, from, (8 << 20) - 3, b"across the end of a part");
    write(&share, from, size - 4096, &[7; 4096]);
    let caller = Caller::root();
    let call = Call::new(&caller, at(9));
    let source = |offset_bytes, length_bytes| Source { file_system: &share, file: from, offset_bytes, length_bytes };
    let before = good(end(share.capacity())).used_bytes;
    for to_bytes in [4096, 1 << 20] {
        let file = create(&share, share.root(), 3, Kind::File);
        write(&share, file, size + to_bytes - 8192, &[9; 8192]);
        let part = Some(size - 4096);
        let changed = good(end(share.clone_range(call, source(0, part), file, to_bytes)));
        assert_eq!(changed.after.size_bytes, size + to_bytes);
        let read = |offset, length| good(end(share.read(call, file, offset, length))).into_bytes();
        assert_eq!((&read(to_bytes, 5)[..], read(0, 5)), (&b"start"[..], vec![0; 5].into()));
        assert_eq!(read(to_bytes + (8 << 20) - 3, 24)[..], *b"across the end of a part");
        // The clone replaces the content of the range, and leaves the content behind it.
        assert_eq!(read(size + to_bytes - 8192, 8192), [[0; 4096], [9; 4096]].concat());
        assert_eq!(end(share.check()), Ok(vec![]));
        let place = Place { directory: share.root(), name: &name(3) };
        good(end(share.remove(call, place, Removes::Anything, Expect::Anything)));
    }
    // Nothing is left but what the files take.
    assert_eq!(good(end(share.capacity())).used_bytes, before);
    let first = good(end(share.copy_range(call, source(5, None), to, 4096 + 5)));
    assert_eq!((first.done_bytes, first.shared_bytes), ((8 << 20) - 5, (8 << 20) - 4096));
    let second = good(end(share.copy_range(call, source(8 << 20, None), to, 4096 + (8 << 20))));
    assert_eq!((second.done_bytes, second.shared_bytes), (8 << 20, 8 << 20));
    let read = |offset, length| good(end(share.read(call, to, offset, length))).into_bytes();
    assert_eq!(read(4096 + (8 << 20) - 3, 24)[..], *b"across the end of a part");
    good(end(share.clone_range(call, source(0, None), to, 0)));
    assert_eq!((read(0, 5)[..].to_vec(), read(size - 4096, 4096)), (b"start".to_vec(), vec![7; 4096].into()));
    assert_eq!(end(share.check()), Ok(vec![]));
}

/// The result has the attributes of the file, whose inode the attempt had not looked at.
#[test]
fn a_rename_that_changes_nothing_looks_at_its_file() {
    let engine = MemoryEngine::new(1, true);
    let share = new_share(&engine);
    let files: Vec<FileId> = (1..60).map(|number| create(&share, share.root(), number, Kind::File)).collect();
    let (caller, last) = (Caller::root(), name(59));
    let place = vfs::Place { directory: share.root(), name: &last };
    let renamed = good(end(share.rename(Call::new(&caller, at(9)), place, place, vfs::Expect::Anything)));
    assert_eq!(Some(&renamed.file.file), files.last());
    assert_eq!(renamed.to.before.change, renamed.to.after.change);
}
