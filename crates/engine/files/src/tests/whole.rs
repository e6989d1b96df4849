//! Contents shared as a whole, over an engine that misses blocks.

use super::share::{create, write};
use super::{end, new_share};
use crate::engine::BLOCK_BYTES;
use crate::testing::MemoryEngine;
use crate::testing::world::{good, name};
use crate::{Files, WholeSource};
use vfs::{Call, Caller, FileId, FileSystem, FsError, Kind, Place, SetAttributes, SpaceReason, Timestamp};

fn clone(
    share: &Files<MemoryEngine>,
    number: u8,
    set: &SetAttributes,
    source: WholeSource<'_, MemoryEngine>,
) -> Result<FileId, FsError> {
    let (caller, name) = (Caller::root(), name(number));
    let place = Place { directory: share.root(), name: &name };
    let created = end(share.create_sharing(Call::new(&caller, Timestamp::default()), place, set, source));
    created.map(|created| created.file.file)
}

fn content(share: &Files<MemoryEngine>, file: FileId) -> Vec<u8> {
    let caller = Caller::root();
    good(end(share.read(Call::new(&caller, Timestamp::default()), file, 0, 1 << 20))).into_bytes().to_vec()
}

#[test]
fn a_clone_has_the_content_of_its_source_and_the_attributes_that_are_not_set() {
    for seed in 0..20 {
        let engine = MemoryEngine::new(seed, true);
        let (share, other) = (new_share(&engine), new_share(&engine));
        let file = create(&share, share.root(), 1, Kind::File);
        write(&share, file, 0, &[7; 5000]);
        write(&share, file, 90_000, &[8; 100]);
        let expected = content(&share, file);
        let set = SetAttributes { mode: Some(0o644), user: Some(9), ..SetAttributes::default() };
        let executed = engine.executed();
        let here = good(clone(&share, 2, &set, WholeSource::File { files: &share, file }));
        assert_eq!(engine.executed(), executed + 1, "one transaction");
        let there = good(clone(&other, 2, &SetAttributes::default(), WholeSource::File { files: &share, file }));
        assert!(content(&share, here) == expected && content(&other, there) == expected);
        let seen = good(end(share.attributes(here)));
        assert_eq!((seen.mode, seen.user, seen.group), (0o644, 9, 0));
        assert_eq!(seen.used_bytes, good(end(share.attributes(file))).used_bytes);
        assert_eq!(good(end(other.space(there))).freed_bytes, 0);
        write(&share, file, 0, &[9; 5000]);
        assert!(content(&share, here) == expected && content(&other, there) == expected);
        assert_eq!((end(share.check()), end(other.check())), (Ok(vec![]), Ok(vec![])));
    }
}

#[test]
fn content_goes_to_an_object_and_comes_back() {
    for seed in 0..20 {
        let engine = MemoryEngine::new(seed, true);
        let (share, object) = (new_share(&engine), engine.create());
        let file = create(&share, share.root(), 1, Kind::File);
        write(&share, file, 3 * BLOCK_BYTES, &[7; 5000]);
        let caller = Caller::root();
        let call = Call::new(&caller, Timestamp::default());
        let size_bytes = 3 * BLOCK_BYTES + 5000;
        let limit_bytes = 4 * BLOCK_BYTES;
        let small = end(share.share_into(call, file, object, limit_bytes));
        assert_eq!((small, engine.mapped(object)), (Err(FsError::FileTooLarge { limit_bytes }), vec![]));
        assert_eq!(end(share.share_into(call, file, object, 8 * BLOCK_BYTES)), Ok(size_bytes));
        assert_eq!(engine.mapped(object), [3, 4]);
        let source = WholeSource::Object { object, size_bytes };
        let back = good(clone(&share, 2, &SetAttributes::default(), source));
        assert!(content(&share, back) == content(&share, file));
        assert_eq!(end(share.check()), Ok(vec![]));
    }
}

#[test]
fn a_clone_that_would_break_a_promise_is_refused() {
    let engine = MemoryEngine::new(1, true);
    let share = new_share(&engine);
    let file = create(&share, share.root(), 1, Kind::File);
    write(&share, file, 0, &[7; 40 << 12]);
    let caller = Caller::root();
    good(end(share.allocate(Call::new(&caller, Timestamp::default()), file, 0, 40 << 12)));
    create(&share, share.root(), 3, Kind::File);
    engine.leave(39);
    let refused = clone(&share, 2, &SetAttributes::default(), WholeSource::File { files: &share, file });
    assert_eq!(refused, Err(FsError::NoSpace(SpaceReason::Promise)));
    assert_eq!(end(share.check()), Ok(vec![]));
    engine.leave(45);
    good(clone(&share, 2, &SetAttributes::default(), WholeSource::File { files: &share, file }));
    assert!(engine.is_within_capacity());
}
