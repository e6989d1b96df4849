//! Structures of a pool that another process serves.

use std::fs;
use std::os::unix::fs::FileExt;

use media::{EngineChoice, FileDisk, OpenOptions};

use super::fixture::Fixture;
use crate::{CheckError, DumpWhat, dump, dump_served};

/// The dump of a closed pool and that of a served one agree, and the lock of the daemon stays.
#[test]
fn a_served_pool_is_shown_as_a_closed_one() {
    let pool = Fixture::checkpointed();
    let closed = [DumpWhat::Superblock, DumpWhat::Root].map(|what| dump(&pool.path, what).unwrap());
    let served = FileDisk::open(&pool.path, &OpenOptions { engine: EngineChoice::Threads, ..OpenOptions::default() });
    let _served = served.unwrap();
    assert!(matches!(dump(&pool.path, DumpWhat::Root), Err(CheckError::Open(_))), "it is locked");
    let shown = dump_served(&pool.path).unwrap();
    assert_eq!([shown.superblock, shown.root], closed);
    assert!(matches!(dump(&pool.path, DumpWhat::Root), Err(CheckError::Open(_))), "it is locked still");
    pool.assert_unchanged();
}

#[test]
fn a_damaged_copy_is_named_and_the_root_is_that_of_another() {
    let pool = Fixture::checkpointed();
    let file = fs::OpenOptions::new().write(true).open(&pool.path).unwrap();
    file.write_all_at(&[0xff; 4096], 0).unwrap();
    let shown = dump_served(&pool.path).unwrap();
    let states: Vec<bool> =
        shown.superblock.0.as_array().unwrap().iter().map(|copy| copy["uuid"].is_string()).collect();
    assert_eq!(states, [false, true, true, true], "{}", shown.superblock);
    assert!(shown.root.0["next_object"].is_u64(), "{}", shown.root);
}

#[test]
fn what_is_no_pool_is_refused() {
    for content in [&[][..], &[0; 100], &[7; 64 << 10]] {
        let pool = Fixture::of(content);
        assert!(matches!(dump_served(&pool.path), Err(CheckError::NoPool { .. })), "{} bytes", content.len());
        pool.assert_unchanged();
    }
    let pool = Fixture::of(&[]);
    assert!(matches!(dump_served(&pool.path.with_extension("none")), Err(CheckError::Open(_))));
    assert!(matches!(dump_served(pool.path.parent().unwrap()), Err(CheckError::Open(_))));
}
