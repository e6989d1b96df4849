//! Clones in many steps: what they use while they last, and what ends them.

use super::share::{create, write};
use super::{ROOT_ATTRIBUTES, end, new_share};
use crate::Files;
use crate::testing::MemoryEngine;
use crate::testing::world::{good, name};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use vfs::{Call, Caller, Changed, FileId, FileSystem, FsError, Kind, SetAttributes, Source, SpaceReason, Timestamp};

type Share = Files<MemoryEngine>;

/// Mapped blocks of the source.
const MAPPED: u64 = 256;
/// Start of its second half, in the second part that is shifted.
const SECOND: u64 = 10 << 20;
const SIZE: u64 = 12 << 20;
/// Offset of the destination: a part has 8 MiB.
const AT: u64 = 4096;
static HALF: [u8; 512 << 10] = [7; 512 << 10];

/// A share with a source and an empty destination.
fn stage(engine: &MemoryEngine) -> (Share, FileId, FileId) {
    let share = new_share(engine);
    let [from, to] = [1, 2].map(|number| create(&share, share.root(), number, Kind::File));
    write(&share, from, 0, &HALF);
    write(&share, from, SECOND, &HALF);
    write(&share, from, SIZE - 1, &[0]);
    (share, from, to)
}

fn source(share: &Share, file: FileId) -> Source<'_, Share> {
    Source { file_system: share, file, offset_bytes: 0, length_bytes: None }
}

fn poll<T>(future: &mut Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn used(share: &Share) -> u64 {
    good(end(share.capacity())).used_bytes
}

/// Whether the file has the source's content, at its offset; otherwise it has none.
fn is_cloned(share: &Share, file: FileId) -> bool {
    let caller = Caller::root();
    if good(end(share.attributes(file))).size_bytes == 0 {
        return false;
    }
    for at in [AT, AT + SECOND] {
        let call = Call::new(&caller, Timestamp::default());
        let read = good(end(share.read(call, file, at, HALF.len() as u32)));
        assert!(read.into_bytes()[..] == HALF, "a part is missing at {at}");
    }
    true
}

fn snapshot(engine: &MemoryEngine, share: &Share) -> Share {
    let object = engine.snapshot(share.object()).map_err(|error| FsError::Stopped { reason: error.to_string() });
    Files::open(engine.clone(), good(object), ROOT_ATTRIBUTES, true)
}

/// A call that was dropped left its files until the next start.
#[test]
fn what_a_dropped_clone_leaves_can_be_deleted() {
    let (mut polls, mut deleted) = (0, 0);
    loop {
        let engine = MemoryEngine::new(polls, true);
        let (share, from, to) = stage(&engine);
        let (before, caller) = (used(&share), Caller::root());
        let call = Call::new(&caller, Timestamp::default());
        let ended = {
            let mut clone = pin!(share.clone_range(call, source(&share, from), to, AT));
            (0..polls).any(|_| poll(&mut clone).is_some())
        };
        deleted += good(end(share.delete_abandoned()));
        assert_eq!((end(share.drop_unheld()), end(share.check())), (Ok(0), Ok(vec![])), "after {polls} polls");
        if !is_cloned(&share, to) {
            assert_eq!(used(&share), before, "after {polls} polls");
        }
        if ended {
            break;
        }
        polls += 1;
    }
    assert!(polls > 5 && deleted > 5, "{polls} polls, {deleted} files");
}

#[test]
fn a_file_that_cannot_be_deleted_is_deleted_later() {
    let engine = MemoryEngine::new(1, false);
    let (share, from, to) = stage(&engine);
    let (before, caller) = (used(&share), Caller::root());
    {
        let call = Call::new(&caller, Timestamp::default());
        let mut clone = pin!(share.clone_range(call, source(&share, from), to, AT));
        assert_eq!(poll(&mut clone), None);
    }
    let kept = snapshot(&engine, &share);
    engine.leave(0);
    let full = Err(FsError::NoSpace(SpaceReason::Pool));
    assert_eq!([end(share.delete_abandoned()), end(share.delete_abandoned())], [full.clone(), full]);
    assert!(used(&share) > before);
    engine.leave(1000);
    assert_eq!((end(share.delete_abandoned()), end(share.delete_abandoned())), (Ok(2), Ok(0)));
    assert_eq!((used(&share), end(share.check()), kept.read_only()), (before, Ok(vec![]), true));
}

/// Files without a name counted until the end of the call: three times the source, with the destination.
#[test]
fn a_clone_uses_twice_its_content_while_it_lasts() {
    for seed in 0..10 {
        let engine = MemoryEngine::new(seed, true);
        let (share, from, to) = stage(&engine);
        let mapped = || engine.mapped(share.object()).len() as u64;
        let (before, caller) = (mapped(), Caller::root());
        let call = Call::new(&caller, Timestamp::default());
        let mut clone = pin!(share.clone_range(call, source(&share, from), to, AT));
        let mut most = 0;
        while poll(&mut clone).is_none() {
            most = most.max(mapped());
        }
        assert!((before + 2 * MAPPED..before + 2 * MAPPED + 8).contains(&most), "{before} blocks, then {most}");
        assert!(is_cloned(&share, to) && mapped() < before + MAPPED + 8);
    }
}

#[test]
fn a_clone_of_a_snapshot_needs_no_copy_of_its_source() {
    let engine = MemoryEngine::new(1, false);
    let (share, from, to) = stage(&engine);
    let old = snapshot(&engine, &share);
    let (caller, before) = (Caller::root(), engine.mapped(share.object()).len() as u64);
    let call = Call::new(&caller, Timestamp::default());
    let mut clone = pin!(share.clone_range(call, source(&old, from), to, AT));
    assert_eq!(poll(&mut clone), None);
    // The first part of two.
    let first = engine.mapped(share.object()).len() as u64;
    assert!((before + MAPPED / 2..before + MAPPED / 2 + 8).contains(&first), "{before} blocks, then {first}");
    while poll(&mut clone).is_none() {}
    assert!(is_cloned(&share, to));
    assert_eq!((end(share.drop_unheld()), end(share.check())), (Ok(0), Ok(vec![])));
}

/// The promise of an allocated source is what fails, not a need for blocks.
#[test]
fn a_source_whose_promise_cannot_grow_refuses_the_clone() {
    let engine = MemoryEngine::new(1, false);
    let (share, from, to) = stage(&engine);
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    good(end(share.allocate(call, from, 0, SIZE)));
    let before = (used(&share), good(end(share.attributes(to))));
    engine.leave(MAPPED / 2);
    let refused = end(share.clone_range(call, source(&share, from), to, AT));
    assert_eq!(refused, Err(FsError::NoSpace(SpaceReason::Promise)));
    assert_eq!((used(&share), good(end(share.attributes(to)))), before);
    assert_eq!((end(share.drop_unheld()), end(share.check())), (Ok(0), Ok(vec![])));
}

/// A roll-back to a snapshot of the clone in progress brought its files back as they were then, and the clone went on:
/// the destination got zeros.
#[test]
fn a_roll_back_ends_a_clone() {
    let run = |seed: u64, polls: (usize, usize)| -> Option<Result<Changed, FsError>> {
        let engine = MemoryEngine::new(seed, true);
        let (share, from, to) = stage(&engine);
        let caller = Caller::root();
        let call = Call::new(&caller, Timestamp::default());
        let mut clone = pin!(share.clone_range(call, source(&share, from), to, AT));
        if (0..polls.0).any(|_| poll(&mut clone).is_some()) {
            return None;
        }
        let middle = snapshot(&engine, &share);
        if (0..polls.1).any(|_| poll(&mut clone).is_some()) {
            return None;
        }
        good(end(share.roll_back(&middle, Timestamp::default())));
        let result = end(clone);
        // A clone that took effect before the roll-back is undone.
        assert!(!is_cloned(&share, to) || result.is_ok(), "{polls:?}: {result:?}");
        good(end(share.drop_unheld()));
        assert_eq!(end(share.delete_abandoned()), Ok(0));
        assert_eq!(end(share.check()), Ok(vec![]));
        assert!(end(share.lookup(call, share.root(), &name(2))).is_ok());
        Some(result)
    };
    let mut replaced = 0;
    for first in 0..40 {
        for second in 0..20 {
            if let Some(Err(error)) = run(first as u64, (first, second)) {
                assert_eq!(error, FsError::Replaced, "after {first} and {second} polls");
                replaced += 1;
            }
        }
    }
    assert!(replaced > 20, "{replaced} clones were ended");
}

/// The copy of the source could change while it was shifted: the rest of the destination became zeros.
#[test]
fn a_clone_takes_nothing_from_a_copy_of_its_source_that_was_changed() {
    let (mut whole, mut ended) = (0, 0);
    for polls in 0..60 {
        let engine = MemoryEngine::new(polls, true);
        let (share, from, to) = stage(&engine);
        let caller = Caller::root();
        let call = Call::new(&caller, Timestamp::default());
        let mut clone = pin!(share.clone_range(call, source(&share, from), to, AT));
        if (0..polls).any(|_| poll(&mut clone).is_some()) {
            break;
        }
        let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
        let copy = FileId(to.0 + 1);
        let cut = end(share.set_attributes(call, copy, &set, None)).is_ok();
        let result = end(clone);
        assert_eq!(is_cloned(&share, to), result.is_ok(), "after {polls} polls: {result:?}");
        match result {
            Ok(_) => whole += 1,
            Err(error) => {
                assert_eq!((error, cut), (FsError::Replaced, true), "after {polls} polls");
                ended += 1;
            }
        }
        good(end(share.delete_abandoned()));
        assert_eq!((end(share.drop_unheld()), end(share.check())), (Ok(0), Ok(vec![])), "after {polls} polls");
    }
    assert!(whole > 3 && ended > 3, "{whole} clones were whole, {ended} ended");
}
