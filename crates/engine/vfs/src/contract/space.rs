//! Rules of space: what is used, promised, freed, and what happens when it is missing.

use super::Fixture;
use super::run::{Run, bytes, good};
use crate::{FileId, FileSystem, FsError, Space, SpaceReason, Stability};

const K: u64 = 1024;

fn space<F: Fixture>(run: &Run<F>, file: FileId) -> Space {
    good(run.end(run.fs().space(file)))
}

fn allocate<F: Fixture>(run: &Run<F>, file: FileId, offset: u64, length: u64) -> Result<(), FsError> {
    run.end(run.fs().allocate(run.call(), file, offset, length)).map(|_| ())
}

fn data(kibibytes: u64) -> Vec<u8> {
    bytes(5, kibibytes as usize * 1024)
}

/// Fills the engine, and shows that it is full for a new file.
fn fill<F: Fixture>(run: &Run<F>) {
    run.leave(0);
    let file = run.file("filler");
    let written = run.write(run.call(), file, 0, &data(256), Stability::Durable);
    assert!(matches!(written, Err(FsError::NoSpace(_))), "the pool is not full: {written:?}");
}

pub(super) fn used_bytes_are_mapped_or_promised<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    assert_eq!((run.attributes(file).used_bytes, space(run, file)), (0, Space::default()));
    run.put(file, 0, &data(40));
    assert_eq!(run.attributes(file).used_bytes, 40 * K);
    run.resize(file, 1 << 40);
    assert_eq!(run.attributes(file).used_bytes, 40 * K);
    good(allocate(run, file, 32 * K, 32 * K));
    let Space { mapped_bytes, promised_bytes, .. } = space(run, file);
    assert_eq!((mapped_bytes, promised_bytes, run.attributes(file).used_bytes), (40 * K, 24 * K, 64 * K));
    run.put(file, 40 * K, &data(8));
    let Space { mapped_bytes, promised_bytes, .. } = space(run, file);
    assert_eq!((mapped_bytes, promised_bytes), (48 * K, 16 * K));
}

pub(super) fn freed_bytes_are_what_a_deletion_frees<F: Fixture>(run: &Run<F>) {
    let (one, two) = (run.file_with("one", &data(40)), run.file_with("two", &data(16)));
    assert_eq!(space(run, one).freed_bytes, 40 * K);
    good(run.clone_range((one, 0, Some(24 * K)), (two, 16 * K)));
    assert_eq!((space(run, one).freed_bytes, space(run, two).freed_bytes), (16 * K, 16 * K));
    good(allocate(run, two, 16 * K, 64 * K));
    let (expected, free) = (space(run, two).freed_bytes, run.free());
    assert_eq!(expected, 80 * K);
    good(run.remove(run.root(), "two"));
    assert!(run.free() >= free + expected, "{} after {free}", run.free());
    assert_eq!(space(run, one).freed_bytes, 40 * K);
}

pub(super) fn an_allocation_grows_the_file_and_reads_as_zeros<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"abc");
    good(allocate(run, file, 100, 9900));
    assert_eq!(run.attributes(file).size_bytes, 10_000);
    assert_eq!(run.get(file, 0, 20_000), [&b"abc"[..], &[0; 9_997]].concat());
    let before = run.attributes(file).used_bytes;
    good(allocate(run, file, 0, 5000));
    assert_eq!((run.attributes(file).used_bytes, run.attributes(file).size_bytes), (before, 10_000));
}

pub(super) fn an_allocation_without_space_changes_nothing<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"abc");
    run.leave(512 * K);
    let before = run.attributes(file);
    assert_eq!(allocate(run, file, 0, 4096 * K), Err(FsError::NoSpace(SpaceReason::Promise)));
    assert_eq!(run.attributes(file), before);
    good(allocate(run, file, 0, 64 * K));
}

pub(super) fn an_allocated_range_is_written_in_a_full_pool<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    good(allocate(run, file, 0, 256 * K));
    fill(run);
    run.put(file, 100, &data(255));
    run.put(file, 0, &data(256));
    assert!(run.get(file, 0, 1 << 20) == data(256));
}

pub(super) fn promises_hold_for_both_sides_of_a_clone<F: Fixture>(run: &Run<F>) {
    let (source, clone) = (run.file("s"), run.file("c"));
    for file in [source, clone] {
        good(allocate(run, file, 0, 128 * K));
        run.put(file, 0, &data(128));
    }
    good(run.clone_range((source, 0, None), (clone, 0)));
    assert_eq!([source, clone].map(|file| space(run, file).promised_bytes), [128 * K; 2]);
    fill(run);
    for (mark, file) in [(1, source), (2, clone)] {
        run.put(file, 0, &bytes(mark, 128 << 10));
    }
    assert!(run.get(source, 0, 1 << 20) == bytes(1, 128 << 10));
    // Now each has its own. A clone needs a promise again, for which nothing is left.
    run.leave(0);
    let other = good(run.find(run.root(), "filler"));
    let refused = run.clone_range((source, 0, None), (other, 0));
    assert_eq!(refused.err(), Some(FsError::NoSpace(SpaceReason::Promise)));
    assert_eq!(run.attributes(other).size_bytes, 0);
}

pub(super) fn promises_hold_after_a_snapshot<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    good(allocate(run, file, 0, 128 * K));
    run.put(file, 0, &data(128));
    let snapshot = good(run.snapshot());
    fill(run);
    run.put(file, 0, &bytes(2, 128 << 10));
    assert!(run.get_of(&snapshot, file, 0, 1 << 20) == data(128));
    // A second one would need a promise that the full pool cannot give.
    assert_eq!(run.snapshot().err(), Some(FsError::NoSpace(SpaceReason::Promise)));
}

pub(super) fn zeroing_keeps_a_promise<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    good(allocate(run, file, 0, 128 * K));
    run.put(file, 0, &data(128));
    good(run.end(run.fs().zero(run.call(), file, 0, 128 * K)));
    assert_eq!(run.attributes(file).used_bytes, 128 * K);
    fill(run);
    run.put(file, 0, &data(128));
}

pub(super) fn deallocation_ends_a_promise<F: Fixture>(run: &Run<F>) {
    let file = run.file("f");
    good(allocate(run, file, 0, 128 * K));
    good(run.end(run.fs().deallocate(run.call(), file, 32 * K, 64 * K)));
    assert_eq!(run.attributes(file).used_bytes, 64 * K);
    run.resize(file, 16 * K);
    run.resize(file, 128 * K);
    assert_eq!(run.attributes(file).used_bytes, 16 * K);
}

pub(super) fn a_write_without_space_changes_nothing<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &data(16));
    let before = run.attributes(file);
    run.leave(64 * K);
    let written = run.write(run.call(), file, 0, &bytes(9, 1 << 20), Stability::Durable);
    assert_eq!(written.err(), Some(FsError::NoSpace(SpaceReason::Pool)));
    assert_eq!(run.attributes(file), before);
    assert!(run.get(file, 0, 1 << 20) == data(16));
}

pub(super) fn a_full_pool_lets_files_go<F: Fixture>(run: &Run<F>) {
    let (_, kept) = (run.file_with("f", &data(512)), run.file_with("g", &data(512)));
    fill(run);
    good(run.remove(run.root(), "f"));
    good(run.end(run.fs().deallocate(run.call(), kept, 0, 256 * K)));
    run.resize(kept, 0);
    run.file_with("h", &data(256));
}
