//! Files that become volumes, volumes that become files, and files that become many.

use super::rig::{Media, Rig, Share};
use crate::{Captured, PoolEngine, capture_file};
use block::{BlockDevice, Extent, Lba};
use files::{Files, Object, WholeSource};
use pool::{Catalog, CatalogChange, ObjectId, ObjectKind, PoolError};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::{
    Call, Caller, Exclusive, FileId, FileSystem, FsError, Kind, Name, New, NewKind, Place, SetAttributes, SpaceReason,
    Stability, Timestamp,
};

const DISK_BLOCKS: u64 = 16 << 10;
const MUCH: usize = 16 << 20;
/// Memory in which hardly anything has room; the disk is slow.
const LITTLE: usize = 64 << 10;
/// Size of the template: not a multiple of a block, and more than a page of the map has.
const TEMPLATE_BYTES: u64 = 300 * 4096 - 1000;

fn name(text: &str) -> Name {
    Name::try_from(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Result of a call of the administration.
fn by_root<T>(rig: &Rig, call: impl AsyncFnOnce(Call<'_>) -> T) -> T {
    let caller = Caller::root();
    rig.end(call(Call::new(&caller, Timestamp::default())))
}

fn good<T>(result: Result<T, FsError>) -> T {
    result.unwrap_or_else(|error| panic!("a call fails: {error}"))
}

fn create(rig: &Rig, share: &Share, text: &str, size_bytes: u64) -> FileId {
    let attributes = SetAttributes { size_bytes: Some(size_bytes), mode: Some(0o640), ..SetAttributes::default() };
    let new = New { what: NewKind::File { exclusive: Exclusive::Yes, hold: false }, attributes };
    good(by_root(rig, async |call| share.create(call, share.root(), &name(text), &new).await)).file.file
}

fn write(rig: &Rig, share: &Share, file: FileId, offset: u64, data: Vec<u8>) {
    good(by_root(rig, async |call| share.write(call, file, offset, data.into_payload(), Stability::Durable).await));
}

trait IntoPayload {
    fn into_payload(self) -> vfs::Payload;
}

impl IntoPayload for Vec<u8> {
    fn into_payload(self) -> vfs::Payload {
        bytes::Bytes::from(self).into()
    }
}

fn content(rig: &Rig, share: &Share, file: FileId) -> Vec<u8> {
    let size_bytes = good(rig.end(share.attributes(file))).size_bytes;
    let mut all = Vec::new();
    while (all.len() as u64) < size_bytes {
        let from = all.len() as u64;
        let read = by_root(rig, async |call| share.read(call, file, from, 1 << 20).await);
        all.extend_from_slice(&good(read).into_bytes());
    }
    all
}

fn volume_content(rig: &Rig, volume: ObjectId) -> Vec<u8> {
    let device = rig.pool().volume(volume);
    let count = device.block_count();
    let read = rig.end(device.read(Extent::new(0, count)));
    read.unwrap_or_else(|error| panic!("{error}")).to_vec()
}

/// A file with content, holes, and an end inside a block.
fn template(rig: &Rig, share: &Share) -> FileId {
    let file = create(rig, share, "template", TEMPLATE_BYTES);
    for (number, block) in [0, 1, 7, 255, 256, 298].into_iter().enumerate() {
        write(rig, share, file, block * 4096, vec![number as u8 + 1; 4096]);
    }
    write(rig, share, file, TEMPLATE_BYTES - 100, vec![99; 100]);
    file
}

fn clone(rig: &Rig, share: &Share, text: &str, source: WholeSource<'_, PoolEngine<Media>>) -> Result<FileId, FsError> {
    let (to, set) = (name(text), SetAttributes::default());
    let place = Place { directory: share.root(), name: &to };
    by_root(rig, async |call| share.create_sharing(call, place, &set, source).await).map(|created| created.file.file)
}

fn of_volume(volume: ObjectId, size_bytes: u64) -> WholeSource<'static, PoolEngine<Media>> {
    WholeSource::Object { object: Object(volume.0), size_bytes }
}

/// Makes a volume of a file, as `control` does.
async fn volume_of(share: &Share, file: FileId, id: ObjectId) -> Result<u64, FsError> {
    let caller = Caller::root();
    let Captured { capture, size_bytes } = capture_file(share, Call::new(&caller, Timestamp::default()), file).await?;
    let size_bytes = size_bytes.next_multiple_of(4096);
    let mut changes = CatalogChange::capture_becomes_volume(capture, id, size_bytes).to_vec();
    changes.push(CatalogChange::PutDocument { key: "volume".to_owned(), value: bytes::Bytes::from_static(b"made") });
    let committed = share.engine().pool().commit(changes).await;
    committed.map_err(|error| FsError::Internal { reason: error.to_string() })?;
    Ok(size_bytes)
}

/// Deletes captures, as a start does.
fn discard_captures(rig: &Rig) {
    for id in rig.pool().captures() {
        assert_eq!(rig.commit(CatalogChange::DeleteObject { id }), Ok(()));
    }
}

/// Blocks of content in use, of shares and volumes.
fn data_blocks(rig: &Rig) -> u64 {
    rig.settle();
    let space = rig.space();
    (space.used_bytes - space.metadata_bytes) / 4096
}

#[test]
fn a_template_becomes_files_a_volume_and_a_file_again_and_no_data_moves() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let (share, empty) = (rig.share(), rig.share());
    let file = template(&rig, &share);
    let expected = content(&rig, &share, file);
    create(&rig, &empty, "template", TEMPLATE_BYTES);
    let mut before = data_blocks(&rig);
    // Files without content show what names and inodes take.
    for number in 0..512 {
        create(&rig, &empty, &format!("f{number}"), TEMPLATE_BYTES);
    }
    let names = data_blocks(&rig) - before;
    before += names;
    let clones: Vec<FileId> = (0..512)
        .map(|number| good(clone(&rig, &share, &format!("f{number}"), WholeSource::File { files: &share, file })))
        .collect();
    assert_eq!(data_blocks(&rig) - before, names);
    before += names;
    for at in [0, 1, 511] {
        assert!(content(&rig, &share, clones[at]) == expected, "clone {at}");
    }
    let attributes = good(rig.end(share.attributes(clones[3])));
    assert_eq!((attributes.mode, attributes.kind, attributes.size_bytes), (0o640, Kind::File, TEMPLATE_BYTES));
    assert_eq!(good(rig.end(share.space(clones[3]))).freed_bytes, 0, "all is shared");

    let volume = rig.pool().new_object_id();
    let size_bytes = good(rig.end(volume_of(&share, clones[7], volume)));
    assert_eq!((size_bytes, data_blocks(&rig)), (300 * 4096, before));
    let info = rig.pool().object(volume).map(|info| (info.kind, info.size_bytes, info.mapped_bytes));
    assert_eq!(info, Some((ObjectKind::Volume, size_bytes, 7 * 4096)));
    let on_volume = volume_content(&rig, volume);
    assert!(on_volume[..expected.len()] == expected && on_volume[expected.len()..] == [0; 1000]);
    assert_eq!(rig.pool().captures(), []);

    // A file in another share: its first one takes the blocks of a name, an inode and a bitmap.
    let other = rig.share();
    create(&rig, &other, "first", TEMPLATE_BYTES);
    let before = data_blocks(&rig);
    let back = good(clone(&rig, &other, "back", of_volume(volume, size_bytes)));
    assert_eq!(data_blocks(&rig), before);
    assert!(content(&rig, &other, back) == on_volume);
    for share in [&share, &empty, &other] {
        assert_eq!(rig.end(share.check()), Ok(vec![]));
    }
    rig.assert_clean();

    // What one of them writes, no other sees.
    write(&rig, &share, clones[7], 0, vec![77; 4096]);
    let written = rig.end(rig.pool().volume(volume).write(
        Extent { lba: Lba(8), count: 8 },
        bytes::Bytes::from(vec![78; 4096]),
        block::Durability::Forced,
    ));
    assert_eq!((written, data_blocks(&rig)), (Ok(()), before + 2));
    assert!(content(&rig, &share, file) == expected && content(&rig, &other, back) == on_volume);
    assert!(content(&rig, &share, clones[7])[4096..] == expected[4096..]);
    rig.assert_clean();
}

#[test]
fn small_and_empty_files_are_captured_and_cloned() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    for (text, size) in [("empty", 0), ("tiny", 5), ("block", 4096), ("small", 60_000), ("leaf", 1 << 20)] {
        let file = create(&rig, &share, text, size as u64);
        if size > 0 {
            write(&rig, &share, file, 0, vec![size as u8 | 1; size]);
        }
        let caller = Caller::root();
        let captured = good(rig.end(capture_file(&share, Call::new(&caller, Timestamp::default()), file)));
        assert_eq!(captured.size_bytes, size as u64);
        let read = rig.end(rig.pool().volume(captured.capture).read(Extent::new(0, size.div_ceil(512) as u64)));
        assert!(read.is_ok_and(|read| read[..size] == vec![size as u8 | 1; size]), "{text}");
        let copy = good(clone(&rig, &share, &format!("{text}2"), WholeSource::File { files: &share, file }));
        assert!(content(&rig, &share, copy) == vec![size as u8 | 1; size], "{text}");
    }
    assert_eq!((rig.pool().captures().len(), rig.end(share.check())), (5, Ok(vec![])));
    discard_captures(&rig);
    rig.assert_clean();
}

#[test]
fn a_refused_clone_or_capture_leaves_everything_as_it_was() {
    let mut rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let file = template(&rig, &share);
    let snapshot = good(rig.snapshot(&share));
    let foreign_rig = Rig::new(2, DISK_BLOCKS, MUCH);
    let foreign = foreign_rig.share();
    let volume = rig.pool().new_object_id();
    assert_eq!(rig.commit(CatalogChange::CreateVolume { id: volume, size_bytes: 1 << 45 }), Ok(()));
    let used = data_blocks(&rig);
    let source = || WholeSource::File { files: &share, file };
    assert!(matches!(clone(&rig, &share, "template", source()), Err(FsError::Exists { kind: Kind::File, .. })));
    assert_eq!(clone(&rig, &snapshot, "copy", source()), Err(FsError::ReadOnly));
    assert_eq!(clone(&foreign_rig, &foreign, "copy", source()), Err(FsError::ForeignSource));
    let limit_bytes = share.limits().file_bytes;
    assert_eq!(clone(&rig, &share, "copy", of_volume(volume, 1 << 45)), Err(FsError::FileTooLarge { limit_bytes }));
    let root = WholeSource::File { files: &share, file: share.root() };
    assert_eq!(clone(&rig, &share, "copy", root), Err(FsError::IsDirectory));
    assert_eq!(clone(&rig, &share, "copy", of_volume(ObjectId(9999), 4096)), Err(FsError::Gone));
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    assert_eq!(rig.end(capture_file(&share, call, share.root())), Err(FsError::IsDirectory));
    assert_eq!(rig.end(capture_file(&share, call, FileId(1 << 30))), Err(FsError::Stale));
    assert_eq!((data_blocks(&rig), rig.pool().captures()), (used, vec![]));
    // A file of a snapshot is a source.
    let old = good(clone(&rig, &share, "old", WholeSource::File { files: &snapshot, file }));
    assert!(content(&rig, &share, old) == content(&rig, &share, file));
    rig.leave(0);
    let full = rig.end(capture_file(&share, call, file));
    assert_eq!(full, Err(FsError::NoSpace(SpaceReason::Pool)));
    rig.settle();
    assert_eq!((rig.pool().captures(), rig.end(share.check())), (vec![], Ok(vec![])));
    rig.assert_clean();
}

/// A volume whose end is inside a block becomes a file of the same size, which is zero behind it once it grows.
#[test]
fn a_volume_that_ends_inside_a_block_becomes_a_file() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let volume = rig.pool().new_object_id();
    let size_bytes = 2 * 4096 + 512;
    assert_eq!(rig.commit(CatalogChange::CreateVolume { id: volume, size_bytes }), Ok(()));
    let data = bytes::Bytes::from(vec![7; size_bytes as usize]);
    let written = rig.end(rig.pool().volume(volume).write(Extent::new(0, 17), data, block::Durability::Forced));
    assert_eq!(written, Ok(()));
    let file = good(clone(&rig, &share, "odd", of_volume(volume, size_bytes)));
    let set = SetAttributes { size_bytes: Some(3 * 4096), ..SetAttributes::default() };
    good(by_root(&rig, async |call| share.set_attributes(call, file, &set, None).await));
    let expected = [vec![7; size_bytes as usize], vec![0; 4096 - 512]].concat();
    assert!(content(&rig, &share, file) == expected);
    assert_eq!(rig.end(share.check()), Ok(vec![]));
    rig.assert_clean();
}

/// Polls a future once.
fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Writers change all blocks at once, and the file grows, while it is captured: the capture is of one instant.
#[test]
fn a_capture_is_of_one_instant_while_writers_write() {
    for turns in 0..60_u64 {
        let rig = Rig::new(turns, DISK_BLOCKS, LITTLE);
        let share = rig.share();
        let file = create(&rig, &share, "f", 0);
        write(&rig, &share, file, 0, vec![1; 16 * 4096]);
        let caller = Caller::root();
        let call = Call::new(&caller, Timestamp::default());
        let mut capture = pin!(capture_file(&share, call, file));
        let mut done = None;
        for _ in 0..turns {
            done = done.or_else(|| poll(capture.as_mut()));
            rig.turn();
        }
        for round in 2..5_u8 {
            let data = vec![round; (16 * 4096) << (round - 2)].into_payload();
            let mut writing = pin!(share.write(call, file, 0, data, Stability::Durable));
            let mut written = None;
            while written.is_none() {
                if done.is_none() {
                    done = poll(capture.as_mut());
                }
                written = poll(writing.as_mut());
                rig.turn();
            }
            good(written.unwrap_or(Err(FsError::Gone)));
        }
        let Captured { capture, size_bytes } = good(done.unwrap_or_else(|| rig.end(capture)));
        let read = rig.end(rig.pool().volume(capture).read(Extent::new(0, size_bytes / 512)));
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        let round = read[0];
        assert!(read.iter().all(|byte| *byte == round), "turns {turns}: parts of two writes");
        assert_eq!(size_bytes, (16 * 4096) << round.saturating_sub(2), "turns {turns}, round {round}");
        assert_eq!(rig.pool().captures(), [capture], "an attempt that was too small leaves nothing");
    }
}

/// A capture that was dropped before its creation took effect was left behind until the next start: there was nothing
/// yet to delete.
#[test]
fn a_capture_that_is_dropped_leaves_nothing() {
    let mut late = 0;
    for polls in 1..12_u64 {
        let rig = Rig::new(polls, DISK_BLOCKS, MUCH);
        let share = rig.share();
        let file = template(&rig, &share);
        let volume = rig.pool().new_object_id();
        assert_eq!(rig.commit(CatalogChange::CreateVolume { id: volume, size_bytes: 64 << 20 }), Ok(()));
        let volume = rig.pool().volume(volume);
        let caller = Caller::root();
        {
            // The log is full whenever the future is polled.
            let fill = |round: u64| {
                let write = |number: u64| {
                    let data = bytes::Bytes::from(vec![round as u8 | 1; 4 << 10]);
                    let extent = Extent::new((number * 64 + round) * 8 % (64 << 11), 8);
                    Box::pin(volume.write(extent, data, block::Durability::Forced))
                };
                let mut writes: Vec<_> = (0..3000).map(write).collect();
                writes.iter_mut().for_each(|write| drop(poll(write.as_mut())));
                // Records as short as that of the creation take what is left.
                let extents: Vec<_> = (0..1000).map(|number| Extent::new(number * 8, 8)).collect();
                let mut unmaps: Vec<_> =
                    extents.iter().map(|one| Box::pin(volume.unmap(std::slice::from_ref(one)))).collect();
                unmaps.iter_mut().for_each(|unmap| drop(poll(unmap.as_mut())));
                writes
            };
            let mut capture = pin!(capture_file(&share, Call::new(&caller, Timestamp::default()), file));
            let before = rig.pool().last_object_id();
            let mut filling = Vec::new();
            for round in 0..polls {
                filling.extend(fill(round));
                if poll(capture.as_mut()).is_some() {
                    break;
                }
                let begun = rig.pool().last_object_id() > before;
                late += u32::from(round + 1 == polls && begun && rig.pool().captures().is_empty());
                if round + 1 < polls {
                    rig.turn();
                }
            }
        }
        // Creations in progress end, then their deletions.
        for _ in 0..4 {
            rig.assert_clean();
            rig.turn();
        }
        assert_eq!((rig.pool().captures(), rig.end(share.check())), (vec![], Ok(vec![])), "after {polls} polls");
    }
    assert!(late > 0, "the creation never waited");
}

/// Whatever has become of a clone or volume when power is lost: it is whole, or there is none.
#[test]
fn a_crash_leaves_all_or_nothing() {
    let mut seen = [[0; 2]; 2];
    for polls in (0..480_u64).step_by(6) {
        let mut rig = Rig::new(polls, DISK_BLOCKS, LITTLE);
        let share = rig.share();
        let file = template(&rig, &share);
        let expected = content(&rig, &share, file);
        let (first, second) = (rig.pool().new_object_id(), rig.pool().new_object_id());
        let size_bytes = good(rig.end(volume_of(&share, file, first)));
        let used = data_blocks(&rig);
        {
            let (caller, to, set) = (Caller::root(), name("back"), SetAttributes::default());
            let call = Call::new(&caller, Timestamp::default());
            let place = Place { directory: share.root(), name: &to };
            // The two go on side by side.
            let mut to_file = pin!(share.create_sharing(call, place, &set, of_volume(first, size_bytes)));
            let mut to_volume = pin!(volume_of(&share, file, second));
            let mut ended = (false, false);
            for _ in 0..polls {
                ended.0 = ended.0 || poll(to_file.as_mut()).is_some_and(|created| created.is_ok());
                ended.1 = ended.1 || poll(to_volume.as_mut()).is_some_and(|made| made.is_ok());
                rig.turn();
            }
            seen[0][usize::from(ended.0)] += 1;
            seen[1][usize::from(ended.1)] += 1;
            rig.restart(true);
            discard_captures(&rig);
            let share: Files<_> = rig.reopened(&share);
            let found = by_root(&rig, async |call| share.lookup(call, share.root(), &to).await);
            match &found {
                Ok(found) => assert!(content(&rig, &share, found.file.file)[..expected.len()] == expected),
                Err(error) => assert_eq!((error, ended.0), (&FsError::NotFound, false), "polls {polls}"),
            }
            let made = rig.pool().object(second);
            match made {
                Some(_) => assert!(volume_content(&rig, second)[..expected.len()] == expected),
                None => assert!(!ended.1, "polls {polls}"),
            }
            assert!(rig.pool().document("volume").is_some(), "that of the first volume");
            assert!(made.is_none_or(|info| info.size_bytes == size_bytes));
            assert_eq!(rig.end(share.check()), Ok(vec![]), "polls {polls}");
            // A name, an inode or a bitmap fit into blocks that exist.
            assert_eq!(data_blocks(&rig), used, "polls {polls}");
            rig.assert_clean();
        }
    }
    assert!(seen.iter().flatten().all(|times| *times > 0), "{seen:?}: crashes before and after");
}

#[test]
fn a_lost_capture_cannot_become_a_volume() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let (capture, id) = (rig.pool().new_object_id(), rig.pool().new_object_id());
    let becomes = CatalogChange::capture_becomes_volume(capture, id, 4096).to_vec();
    assert_eq!(rig.end(rig.pool().commit(becomes)), Err(PoolError::NoSuchObject(capture)));
    assert_eq!(rig.pool().object(id), None);
}
