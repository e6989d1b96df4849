//! Large reads, whose content comes from the engine in one piece.

use super::share::{create, write};
use super::{end, new_share};
use crate::Files;
use crate::testing::MemoryEngine;
use crate::testing::world::good;
use random::Random;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::{Call, Caller, FileId, FileSystem, FsError, Kind, Segment, SetAttributes, Timestamp};

const SIZE: u32 = 100_000;

fn call(caller: &Caller) -> Call<'_> {
    Call::new(caller, Timestamp::default())
}

fn read(share: &Files<MemoryEngine>, file: FileId, offset: u64, length: u32) -> Result<vfs::Content, FsError> {
    let caller = Caller::root();
    end(share.read(call(&caller), file, offset, length))
}

fn truncate(share: &Files<MemoryEngine>, file: FileId, size: u64) {
    let set = SetAttributes { size_bytes: Some(size), ..SetAttributes::default() };
    good(end(share.set_attributes(call(&Caller::root()), file, &set, None)));
}

/// Content that is a function of its place and of the file.
fn content(offset: u64, length: u64, file: u8) -> Vec<u8> {
    (offset..offset + length).map(|at| (at / 7 % 251) as u8 ^ file).collect()
}

#[test]
fn content_is_in_one_piece_and_holes_are_holes() {
    let share = new_share(&MemoryEngine::new(1, false));
    let file = create(&share, share.root(), 1, Kind::File);
    write(&share, file, 0, &content(0, SIZE.into(), 0));
    for (offset, length) in [(0, SIZE), (1, 50_000), (4095, 40_000), (60_000, 1 << 20), (99_999, 60_000)] {
        let found = good(read(&share, file, offset, length));
        let wanted = u64::from(length).min(u64::from(SIZE) - offset);
        assert_eq!(found.segments[..], [Segment::Data(content(offset, wanted, 0).into())], "{length} at {offset}");
        assert_eq!(found.end_of_file, wanted < u64::from(length) || offset + wanted == u64::from(SIZE));
        assert_eq!(found.attributes, good(end(share.attributes(file))));
    }
    for offset in [SIZE.into(), 1 << 40] {
        let behind = good(read(&share, file, offset, SIZE));
        assert!(behind.segments.is_empty() && behind.end_of_file);
    }
    truncate(&share, file, 5000);
    truncate(&share, file, 200_000);
    let found = good(read(&share, file, 0, SIZE));
    assert_eq!((found.segments.len(), found.length_bytes()), (3, SIZE.into()), "{:?}", found.segments);
    assert!(matches!(found.segments.last(), Some(Segment::Hole { .. })));
    let empty = create(&share, share.root(), 2, Kind::File);
    truncate(&share, empty, 1 << 30);
    let hole = good(read(&share, empty, 1 << 20, SIZE));
    assert_eq!(hole.segments[..], [Segment::Hole { length_bytes: SIZE.into() }]);
}

#[test]
fn a_large_read_is_checked_as_others_are() {
    let share = new_share(&MemoryEngine::new(1, false));
    let file = create(&share, share.root(), 1, Kind::File);
    write(&share, file, 0, &content(0, SIZE.into(), 0));
    let other = Caller::new(5, 5, &[], vfs::Squash::None, vfs::Anonymous { user: 9, group: 9 });
    let refused = |found: Result<vfs::Content, FsError>| found.err().unwrap_or_else(|| panic!("it is read"));
    assert!(matches!(refused(end(share.read(call(&other), file, 0, SIZE))), FsError::Denied { .. }));
    assert!(matches!(refused(read(&share, share.root(), 0, SIZE)), FsError::IsDirectory));
    assert_eq!(refused(read(&share, FileId(4711), 0, SIZE)), FsError::Stale);
    let later = Timestamp::new(1_000_000, 0).unwrap_or_default();
    good(end(share.read(Call::new(&Caller::root(), later), file, 0, SIZE)));
    assert_eq!(good(end(share.attributes(file))).accessed, later);
}

/// While the content of a read is on its way, the file loses its region, and another one gets it.
#[test]
fn a_read_has_the_content_of_its_file_at_one_instant() {
    let (mut before, mut after) = (0, 0);
    for seed in 0..60 {
        let engine = MemoryEngine::new(seed, true);
        let share = new_share(&engine);
        let random = Random::new(seed);
        let files = [1, 2].map(|number| create(&share, share.root(), number, Kind::File));
        write(&share, files[0], 0, &content(0, SIZE.into(), 0));
        let caller = Caller::root();
        let mut reading = pin!(share.read(call(&caller), files[0], 0, SIZE));
        let mut polled = Poll::Pending;
        for _ in 0..random.below(4) {
            if polled.is_pending() {
                polled = reading.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            }
        }
        truncate(&share, files[0], 0);
        write(&share, files[1], 0, &content(0, SIZE.into(), 0x55));
        let found = match polled {
            Poll::Ready(found) => found,
            Poll::Pending => end(reading),
        };
        match good(found).into_bytes() {
            data if data == content(0, SIZE.into(), 0) => before += 1,
            data if data.is_empty() => after += 1,
            _ => panic!("seed {seed}: content of another file"),
        }
    }
    assert!(before > 0 && after > 0, "{before} reads before, {after} after the change");
}

#[test]
fn bytes_in_use_are_counted_for_calls_that_want_them() {
    let share = new_share(&MemoryEngine::new(1, true));
    let file = create(&share, share.root(), 1, Kind::File);
    let caller = Caller::root();
    for offset in [0, 50_000] {
        let data = || bytes::Bytes::from(vec![1; 9000]).into();
        let stability = vfs::Stability::Unstable;
        let without = good(end(share.write(call(&caller).without_used(), file, offset, data(), stability)));
        assert_eq!(without.after.used_bytes, 0);
        let with = good(end(share.write(call(&caller), file, offset, data(), stability)));
        let all = good(end(share.attributes(file)));
        assert!(all.used_bytes > 0 && with.after == all);
        assert_eq!((without.after.size_bytes, without.after.mode), (all.size_bytes, all.mode));
        let read = |call| good(end(share.read(call, file, 0, SIZE))).attributes.used_bytes;
        assert_eq!((read(call(&caller)), read(call(&caller).without_used())), (all.used_bytes, 0));
    }
}
