//! Large directories: splits and merges on several levels, moves between the classes of regions, listings.

use super::share::create;
use super::{end, new_share};
use crate::Files;
use crate::testing::MemoryEngine;
use crate::testing::world::good;
use random::Random;
use std::collections::BTreeMap;
use vfs::{
    Call, Caller, Cookie, Exclusive, Expect, FileId, FileSystem, FsError, Kind, Name, New, NewKind, Place, Removes,
    SetAttributes, Timestamp,
};

/// Entries with long names: about 12 a leaf, so that the tree has two levels above the leaves.
const ENTRIES: usize = 6000;

fn long_name(number: usize) -> Name {
    let text = format!("{number:0>230}");
    Name::try_from(&text[..]).unwrap_or_else(|error| panic!("{error}"))
}

fn list(share: &Files<MemoryEngine>, directory: FileId) -> BTreeMap<Name, FileId> {
    let (caller, mut all, mut after) = (Caller::root(), BTreeMap::new(), Cookie::START);
    loop {
        let call = Call::new(&caller, Timestamp::default());
        let listing = good(end(share.read_directory(call, directory, after, 64, false)));
        for entry in &listing.entries {
            assert!(entry.cookie > after);
            after = entry.cookie;
            assert_eq!(all.insert(entry.name.clone(), entry.file), None);
        }
        if listing.end {
            return all;
        }
    }
}

#[test]
fn a_directory_grows_and_shrinks_without_losing_a_name() {
    let engine = MemoryEngine::new(1, false);
    let share = new_share(&engine);
    let directory = create(&share, share.root(), 1, Kind::Directory);
    let (caller, random) = (Caller::root(), Random::new(5));
    let call = Call::new(&caller, Timestamp::default());
    let what = NewKind::File { exclusive: Exclusive::Yes, hold: false };
    let new = New { what, attributes: SetAttributes::default() };
    let mut model = BTreeMap::new();
    for number in 0..ENTRIES {
        let created = good(end(share.create(call, directory, &long_name(number), &new)));
        model.insert(long_name(number), created.file.file);
        if [1, 16, 17, 200, 3000].contains(&number) {
            assert_eq!((list(&share, directory), end(share.check())), (model.clone(), Ok(vec![])));
        }
    }
    assert_eq!((list(&share, directory), end(share.check())), (model.clone(), Ok(vec![])));
    let blocks = good(end(share.attributes(directory))).used_bytes / 4096;
    assert!(blocks > 400 && blocks < 700, "{blocks} nodes");
    let mut order: Vec<usize> = (0..ENTRIES).collect();
    random.shuffle(&mut order);
    for (count, number) in order.into_iter().enumerate() {
        let name = long_name(number);
        assert_eq!(good(end(share.lookup(call, directory, &name))).file.file, model[&name]);
        let from = Place { directory, name: &name };
        good(end(share.remove(call, from, Removes::Anything, Expect::Anything)));
        model.remove(&name);
        assert_eq!(end(share.lookup(call, directory, &name)), Err(FsError::NotFound));
        if count % 1500 == 0 || model.len() < 3 {
            assert_eq!((list(&share, directory), end(share.check())), (model.clone(), Ok(vec![])));
        }
    }
    assert_eq!(good(end(share.attributes(directory))).used_bytes, 0);
}
