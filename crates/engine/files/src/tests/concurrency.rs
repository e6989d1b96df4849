//! Calls that wait for blocks beside one another: each is one step all the same.

use super::{end, new_share};
use crate::testing::MemoryEngine;
use crate::testing::world::{good, name};
use random::Random;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use vfs::{
    Call, Caller, Created, Exclusive, Expect, FileId, FileSystem, FsError, Kind, New, NewKind, Place, Removes,
    SetAttributes, Timestamp,
};

/// A creation in progress.
type Creation<'a> = Pin<Box<dyn Future<Output = Result<Created, FsError>> + 'a>>;

/// Polls all calls in random order until each has returned.
fn all<T>(random: &Random, mut calls: Vec<Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    let mut results = Vec::new();
    while !calls.is_empty() {
        let at = random.index(calls.len());
        let polled = calls.get_mut(at).map(|call| call.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        if let Some(Poll::Ready(result)) = polled {
            results.push(result);
            drop(calls.swap_remove(at));
        }
    }
    results
}

fn new(exclusive: Exclusive, hold: bool) -> New {
    New { what: NewKind::File { exclusive, hold }, attributes: SetAttributes::default() }
}

#[test]
fn one_of_several_exclusive_creations_succeeds() {
    for seed in 0..30 {
        let share = new_share(&MemoryEngine::new(seed, true));
        let (caller, new, name) = (Caller::root(), new(Exclusive::Yes, false), name(1));
        let call = Call::new(&caller, Timestamp::default());
        let calls = (0..8).map(|_| Box::pin(share.create(call, share.root(), &name, &new)) as Creation<'_>);
        let results = all(&Random::new(seed), calls.collect());
        let created: Vec<FileId> = results.iter().flatten().map(|created| created.file.file).collect();
        assert_eq!(created.len(), 1, "seed {seed}: {results:?}");
        let exists = FsError::Exists { file: created[0], kind: Kind::File };
        assert_eq!(results.iter().filter(|result| result.as_ref().err() == Some(&exists)).count(), 7);
        assert_eq!(end(share.check()), Ok(vec![]));
    }
}

#[test]
fn numbers_and_change_values_are_given_once() {
    for seed in 0..20 {
        let share = new_share(&MemoryEngine::new(seed, true));
        let (caller, new) = (Caller::root(), new(Exclusive::Yes, true));
        let call = Call::new(&caller, Timestamp::default());
        let names: Vec<_> = (0..20).map(name).collect();
        let calls = names.iter().map(|name| Box::pin(share.create(call, share.root(), name, &new)) as Creation<'_>);
        let results: Vec<_> = all(&Random::new(seed), calls.collect()).into_iter().map(good).collect();
        let unique = |values: Vec<u64>| std::collections::BTreeSet::from_iter(values).len();
        assert_eq!(unique(results.iter().map(|created| created.file.file.0).collect()), 20);
        assert_eq!(unique(results.iter().map(|created| created.directory.after.change.0).collect()), 20);
        // Each directory change continues where the one before ended.
        let after: Vec<_> = results.iter().map(|created| created.directory.after.change).collect();
        let first = results.iter().filter(|created| !after.contains(&created.directory.before.change)).count();
        assert_eq!(first, 1);
        assert_eq!(end(share.check()), Ok(vec![]));
    }
}

#[test]
fn a_removal_beside_a_release_deletes_the_file_once() {
    for seed in 0..60 {
        let engine = MemoryEngine::new(seed, true);
        let share = new_share(&engine);
        let (caller, name) = (Caller::root(), name(1));
        let call = Call::new(&caller, Timestamp::default());
        let file = good(end(share.create(call, share.root(), &name, &new(Exclusive::Yes, true)))).file.file;
        super::share::write(&share, file, 0, &[7; 9000]);
        let from = Place { directory: share.root(), name: &name };
        let remove = async { share.remove(call, from, Removes::Anything, Expect::Anything).await.map(|_| ()) };
        let results =
            all::<Result<(), FsError>>(&Random::new(seed), vec![Box::pin(remove), Box::pin(share.release(file))]);
        assert_eq!(results, [Ok(()), Ok(())]);
        assert_eq!(end(share.attributes(file)), Err(FsError::Stale));
        assert_eq!((end(share.check()), end(share.drop_unheld())), (Ok(vec![]), Ok(0)));
    }
}
