//! What the engine of shares over a pool says for itself.

use super::rig::{Rig, Share};
use files::Files;
use media::Disk;
use pool::{Catalog, CatalogChange, Core, ObjectId};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::{
    Call, Caller, Exclusive, FileId, FileSystem, FsError, Name, New, NewKind, SetAttributes, SpaceReason, Stability,
    Timestamp,
};

const DISK_BLOCKS: u64 = 16 << 10;
const MUCH: usize = 16 << 20;

fn good<T>(result: Result<T, FsError>) -> T {
    result.unwrap_or_else(|error| panic!("a call fails: {error}"))
}

fn name(text: &str) -> Name {
    Name::try_from(text).unwrap_or_else(|error| panic!("{error}"))
}

fn new_file() -> New {
    New { what: NewKind::File { exclusive: Exclusive::No, hold: false }, attributes: SetAttributes::default() }
}

fn create(rig: &Rig, share: &Share, text: &str) -> FileId {
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    good(rig.end(share.create(call, share.root(), &name(text), &new_file()))).file.file
}

fn write(rig: &Rig, share: &Share, file: FileId, offset: u64, data: &[u8]) -> Result<(), FsError> {
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    let data = bytes::Bytes::copy_from_slice(data).into();
    rig.end(share.write(call, file, offset, data, Stability::Durable)).map(|_| ())
}

fn read(rig: &Rig, share: &Share, file: FileId) -> Result<Vec<u8>, FsError> {
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    rig.end(share.read(call, file, 0, 1 << 20)).map(|content| content.into_bytes().to_vec())
}

/// Result of a call that is ready at its first poll.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn calls_with_everything_in_memory_are_ready_at_their_first_poll() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let file = create(&rig, &share, "f");
    write(&rig, &share, file, 0, &[1; 9000]).unwrap_or_else(|error| panic!("{error}"));
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    assert_eq!(good(at_once(share.attributes(file))).size_bytes, 9000);
    assert_eq!(good(at_once(share.lookup(call, share.root(), &name("f")))).file.file, file);
    assert_eq!(good(at_once(share.read(call, file, 0, 100))).into_bytes(), [1; 100][..]);
    let data = || bytes::Bytes::from_static(&[2; 5000]).into();
    good(at_once(share.write(call, file, 100, data(), Stability::Unstable)));
    assert_eq!(good(at_once(share.read(call, file, 100, 5000))).into_bytes(), [2; 5000][..]);
    assert_eq!(rig.pool().counters().most_waits, 0);
}

/// A share that is a replica: hosts get ROFS for each change, and read what is there.
#[test]
fn a_replica_is_read_only_for_every_change_of_a_file() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let file = create(&rig, &share, "a");
    assert_eq!(write(&rig, &share, file, 0, &[1; 5000]), Ok(()));
    let id = ObjectId(share.object().0);
    let set = |enabled| rig.commit(CatalogChange::SetReplica { id, enabled });
    assert_eq!(set(true), Ok(()));
    assert_eq!(write(&rig, &share, file, 0, &[2; 5000]), Err(FsError::ReadOnly));
    assert_eq!(write(&rig, &share, file, 0, &[2; 100_000]), Err(FsError::ReadOnly));
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    let created = rig.end(share.create(call, share.root(), &name("b"), &new_file()));
    assert_eq!(created.map(drop), Err(FsError::ReadOnly));
    assert_eq!(set(false), Ok(()));
    assert_eq!(write(&rig, &share, file, 0, &[2; 5000]), Ok(()));
}

#[test]
fn a_look_at_what_is_not_in_memory_waits() {
    let mut rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let file = create(&rig, &share, "f");
    rig.restart(false);
    let share = rig.reopened(&share);
    assert!(rig.end_within(share.attributes(file), 1).is_none());
    assert_eq!(good(rig.end(share.attributes(file))).size_bytes, 0);
    assert!(rig.pool().counters().most_waits > 0);
}

#[test]
fn an_unreadable_block_fails_its_file_alone() {
    let mut rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let (bad, fine) = (create(&rig, &share, "bad"), create(&rig, &share, "fine"));
    for (file, byte) in [(bad, 0x5a), (fine, 0x5b)] {
        assert_eq!(write(&rig, &share, file, 0, &[byte; 3 * 4096]), Ok(()));
    }
    assert_eq!(rig.pool().with_core(Core::checkpoint), Ok(()));
    // The log, in front of the content, has copies.
    let mut blocks = (0..rig.disk.block_count()).rev();
    let damaged = blocks.find(|block| rig.disk.peek(*block).0.iter().all(|byte| *byte == 0x5a));
    rig.disk.rot(damaged.unwrap_or(0), 3);
    rig.restart(true);
    let share = rig.reopened(&share);
    let failed = FsError::ReadFailed { file: bad, offset_bytes: None };
    assert!(read(&rig, &share, bad) == Err(failed.clone()));
    assert!(rig.end(share.attributes(bad)).is_ok());
    assert_eq!(read(&rig, &share, fine), Ok(vec![0x5b; 3 * 4096]));
    // A change of a part of a block needs the rest of it; one of the whole block does not.
    let parts = [0, 4096, 8192].map(|at| write(&rig, &share, bad, at, &[1; 100]));
    assert_eq!(parts.iter().filter(|part| **part == Err(failed.clone())).count(), 1, "{parts:?}");
    assert_eq!(write(&rig, &share, bad, 0, &[2; 3 * 4096]), Ok(()));
    assert_eq!(read(&rig, &share, bad), Ok(vec![2; 3 * 4096]));
    assert_eq!(rig.end(share.check()), Ok(vec![]));
}

#[test]
fn a_deleted_share_is_gone() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let id = ObjectId(share.object().0);
    assert_eq!(rig.end(rig.pool().commit(vec![CatalogChange::DeleteObject { id }])), Ok(()));
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    assert_eq!(rig.end(share.attributes(share.root())), Err(FsError::Gone));
    let created = rig.end(share.create(call, share.root(), &name("f"), &new_file()));
    assert_eq!(created.err(), Some(FsError::Gone));
}

#[test]
fn handles_of_one_pool_are_one_engine() {
    let (rig, other) = (Rig::new(1, DISK_BLOCKS, MUCH), Rig::new(2, DISK_BLOCKS, MUCH));
    let (share, foreign) = (rig.share(), other.share());
    let again = crate::PoolEngine::new(rig.pool().clone(), || [0; 16]);
    let another = Files::open(again, rig.share().object(), super::rig::root(), false);
    let file = create(&rig, &share, "f");
    assert_eq!(write(&rig, &share, file, 0, &[7; 4096]), Ok(()));
    let clone = |into: &Share, rig: &Rig| {
        let to = create(rig, into, "clone");
        let caller = Caller::root();
        let call = Call::new(&caller, Timestamp::default());
        let source = vfs::Source { file_system: &share, file, offset_bytes: 0, length_bytes: None };
        rig.end(into.clone_range(call, source, to, 0)).map(|_| to)
    };
    let to = good(clone(&another, &rig));
    assert_eq!(read(&rig, &another, to), Ok(vec![7; 4096]));
    assert_eq!(clone(&foreign, &other).err(), Some(FsError::ForeignSource));
}

#[test]
fn a_copy_of_many_holes_is_one_step() {
    let rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let (from, to) = (create(&rig, &share, "from"), create(&rig, &share, "to"));
    for block in (0..256).step_by(2) {
        assert_eq!(write(&rig, &share, from, block * 4096, &[block as u8 | 1; 4096]), Ok(()));
    }
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    let source = vfs::Source { file_system: &share, file: from, offset_bytes: 0, length_bytes: Some(255 * 4096) };
    let copied = good(rig.end(share.copy_range(call, source, to, 100)));
    assert_eq!((copied.done_bytes, copied.shared_bytes), (255 * 4096, 0));
    assert_eq!(read(&rig, &share, to), read(&rig, &share, from).map(|data| [&[0; 100][..], &data].concat()));
    rig.assert_clean();
}

#[test]
fn shares_without_space_say_so() {
    let mut rig = Rig::new(1, DISK_BLOCKS, MUCH);
    let share = rig.share();
    let file = create(&rig, &share, "f");
    rig.leave(0);
    let full = write(&rig, &share, file, 0, &[7; 256 << 10]);
    assert_eq!(full, Err(FsError::NoSpace(SpaceReason::Pool)));
    assert_eq!(good(rig.end(share.attributes(file))).size_bytes, 0);
}
