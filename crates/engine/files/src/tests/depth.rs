//! Deep directories: the limit of levels, and moves beside one another.

use super::share::create;
use super::{end, new_share};
use crate::Files;
use crate::names::MOST_LEVELS;
use crate::testing::MemoryEngine;
use crate::testing::world::{good, name};
use random::Random;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use vfs::{Call, Caller, Expect, FileId, FileSystem, FsError, Kind, New, NewKind, Place, SetAttributes, Timestamp};

type Share = Files<MemoryEngine>;
/// Directory and name.
type At = (FileId, u8);

async fn rename(share: &Share, from: At, to: At) -> Result<(), FsError> {
    let (caller, old, new) = (Caller::root(), name(from.1), name(to.1));
    let call = Call::new(&caller, Timestamp::default());
    let (from, to) = (Place { directory: from.0, name: &old }, Place { directory: to.0, name: &new });
    share.rename(call, from, to, Expect::Anything).await.map(|_| ())
}

fn create_directory(share: &Share, directory: FileId) -> Result<FileId, FsError> {
    let (caller, new) = (Caller::root(), New { what: NewKind::Directory, attributes: SetAttributes::default() });
    let call = Call::new(&caller, Timestamp::default());
    end(share.create(call, directory, &name(9), &new)).map(|created| created.file.file)
}

/// A chain of directories below the root; each is `n1` of the one before, the first is `first`.
fn chain(share: &Share, first: u8, length: usize) -> Vec<FileId> {
    let mut chain = vec![create(share, share.root(), first, Kind::Directory)];
    while chain.len() < length {
        let last = chain.last().copied().unwrap_or(share.root());
        chain.push(create(share, last, 1, Kind::Directory));
    }
    chain
}

/// A rename looked at all directories above the new name, up to 65 536, in each attempt.
#[test]
fn directories_are_created_and_moved_down_to_a_limit() {
    let share = new_share(&MemoryEngine::new(1, true));
    let root = share.root();
    // Built from below: each directory gets all the others, so that only the last calls climb far.
    let mut chain = vec![create(&share, root, 1, Kind::Directory)];
    for _ in 0..MOST_LEVELS + 10 {
        let above = create(&share, root, 2, Kind::Directory);
        good(end(rename(&share, (root, 1), (above, 1))));
        good(end(rename(&share, (root, 2), (root, 1))));
        chain.insert(0, above);
    }
    let at = |level: u32| chain[level as usize - 1];
    let climb = |level| good(end(share.look(|share| share.climb(None, at(level), None))));
    assert!(climb(10).is_none() && climb(100).is_some(), "an attempt climbs a part of the way");
    let too_deep = FsError::TooManyLinks { limit: MOST_LEVELS };
    let below = good(create_directory(&share, at(MOST_LEVELS)));
    assert_eq!(create_directory(&share, at(MOST_LEVELS + 1)), Err(too_deep.clone()));
    assert_eq!(create_directory(&share, below), Err(too_deep.clone()));
    create(&share, root, 3, Kind::Directory);
    assert_eq!(end(rename(&share, (root, 3), (below, 3))), Err(too_deep));
    assert_eq!(end(rename(&share, (root, 1), (at(MOST_LEVELS), 3))), Err(FsError::IntoItself));
    good(end(rename(&share, (root, 3), (at(MOST_LEVELS), 3))));
    // Other files have no such limit, nor has a new name in the same directory; and the way up is free.
    create(&share, at(MOST_LEVELS + 5), 4, Kind::File);
    good(end(rename(&share, (at(MOST_LEVELS + 5), 1), (at(MOST_LEVELS + 5), 6))));
    good(end(rename(&share, (at(MOST_LEVELS + 5), 6), (root, 6))));
    assert_eq!(end(share.check()), Ok(vec![]));
}

/// Each climbs in several parts. The second move may end when the first one has passed the directory that it moves.
#[test]
fn two_moves_into_one_another_make_no_cycle() {
    for seed in 0..30 {
        let (share, random) = (new_share(&MemoryEngine::new(seed, true)), Random::new(seed));
        let (root, one, other) = (share.root(), chain(&share, 2, 80), chain(&share, 3, 80));
        let mut first = pin!(rename(&share, (root, 2), (other[79], 7)));
        let mut second = pin!(rename(&share, (other[39], 1), (one[79], 7)));
        let mut results = [None, None];
        let mut context = Context::from_waker(Waker::noop());
        while results.iter().any(Option::is_none) {
            let at = random.index(2);
            if results[at].is_some() {
                continue;
            }
            let polled = if at == 0 { first.as_mut().poll(&mut context) } else { second.as_mut().poll(&mut context) };
            if let Poll::Ready(result) = polled {
                results[at] = Some(result);
            }
        }
        assert_eq!(results.iter().filter(|result| **result == Some(Ok(()))).count(), 1, "seed {seed}");
        assert!(results.contains(&Some(Err(FsError::IntoItself))), "seed {seed}: {results:?}");
        assert_eq!(end(share.check()), Ok(vec![]), "seed {seed}");
    }
}
