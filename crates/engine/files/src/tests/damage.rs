//! Damaged blocks: calls fail, and other files are served.

use super::share::{create, write};
use super::{end, new_share};
use crate::layout::address::inode_at;
use crate::testing::MemoryEngine;
use crate::testing::steps::Steps;
use crate::testing::world::{World, good};
use random::Random;
use vfs::{Call, Caller, FileSystem, FsError, Kind, Timestamp};

#[test]
fn a_file_in_an_unreadable_block_fails_and_the_others_do_not() {
    let engine = MemoryEngine::new(1, false);
    let share = new_share(&engine);
    let files: Vec<_> = (0..20).map(|number| create(&share, share.root(), number, Kind::File)).collect();
    engine.damage(share.object(), inode_at(files[0]).0);
    let failed = Err(FsError::ReadFailed { file: files[0], offset_bytes: None });
    assert_eq!(end(share.attributes(files[0])), failed);
    assert!(end(share.attributes(files[19])).is_ok());
    let caller = Caller::root();
    let call = Call::new(&caller, Timestamp::default());
    let listing = good(end(share.read_directory(call, share.root(), vfs::Cookie::START, 64, true)));
    assert_eq!(listing.entries.len(), 20);
    let fine = listing.entries.iter().filter(|entry| matches!(entry.attributes, Some(Ok(_)))).count();
    assert!(fine > 0 && fine < 20, "{fine} files are listed with attributes");
    write(&share, files[19], 0, &[7; 9000]);
    engine.damage(share.object(), good(region_block(&share, files[19])));
    let failed = FsError::ReadFailed { file: files[19], offset_bytes: None };
    assert_eq!(end(share.read(call, files[19], 0, 9000)).err(), Some(failed));
}

fn region_block(share: &crate::Files<MemoryEngine>, file: vfs::FileId) -> Result<u64, FsError> {
    let inode = end(share.look(|share| share.any_inode(file)))?;
    inode.region.map(|region| region.first()).ok_or(FsError::Stale)
}

/// Blocks that nobody's checksum protects are changed at random: no call panics or loops.
#[test]
fn wrong_content_of_any_block_ends_in_an_error_or_a_result() {
    for seed in 0..25 {
        let random = Random::new(seed);
        let engine = MemoryEngine::new(seed, false);
        let mut share = World::new(new_share(&engine));
        let mut steps = Steps::new(&random);
        for _ in 0..120 {
            let _ = end(share.take(&steps.draw()));
        }
        for _ in 0..60 {
            let mapped = engine.mapped(share.fs.object());
            let Some(block) = mapped.get(random.index(mapped.len())) else { continue };
            engine.corrupt(share.fs.object(), *block, |bytes| {
                for _ in 0..=random.index(4) {
                    let at = if random.chance(70) { random.index(96) } else { random.index(4096) };
                    bytes[at] = if random.chance(30) { 0 } else { random.byte() };
                }
            });
            let _ = end(share.take(&steps.draw()));
            let _ = end(share.fs.check());
        }
    }
}
