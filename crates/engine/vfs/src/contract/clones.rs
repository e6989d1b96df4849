//! Rules of clones and copies.

use super::Fixture;
use super::run::{Run, bytes, good};
use crate::{FileId, FileSystem, FsError, Source};

fn grain<F: Fixture>(run: &Run<F>) -> u64 {
    u64::from(run.fs().limits().grain_bytes)
}

pub(super) fn a_clone_is_equal_and_independent<F: Fixture>(run: &Run<F>) {
    let data = bytes(1, 41_060);
    let (source, clone) = (run.file_with("s", &data), run.file("c"));
    let changed = good(run.clone_range((source, 0, None), (clone, 0)));
    assert_eq!((changed.after, changed.after.size_bytes), (run.attributes(clone), 41_060));
    assert!(run.get(clone, 0, 50_000) == data);
    run.put(source, 0, b"source");
    run.put(clone, 5000, b"clone");
    assert_eq!((run.get(clone, 0, 6), run.get(source, 5000, 5)), (data[..6].to_vec(), data[5000..5005].to_vec()));
    good(run.remove(run.root(), "s"));
    assert!(run.get(clone, 10_000, 50_000) == data[10_000..]);
}

pub(super) fn a_clone_is_aligned_or_ends_with_its_source<F: Fixture>(run: &Run<F>) {
    let grain = grain(run);
    let size = 8 * grain + 100;
    let (source, clone) = (run.file_with("s", &bytes(1, size as usize)), run.file("c"));
    let misaligned = Some(FsError::Misaligned { unit_bytes: run.fs().limits().grain_bytes });
    for (from, length, to) in [(1, grain, 0), (0, grain, 1), (0, grain - 1, 0), (512, size - 512, 512)] {
        assert_eq!(run.clone_range((source, from, Some(length)), (clone, to)).err(), misaligned);
    }
    assert_eq!(run.attributes(clone).size_bytes, 0);
    good(run.clone_range((source, 8 * grain, Some(100)), (clone, 2 * grain)));
    assert_eq!(run.attributes(clone).size_bytes, 2 * grain + 100);
    assert_eq!(run.get(clone, 2 * grain, 500), bytes(1, size as usize)[8 * grain as usize..]);
    assert_eq!(run.get(clone, 0, 500), vec![0; 500]);
}

pub(super) fn a_clone_lies_inside_its_source<F: Fixture>(run: &Run<F>) {
    let size_bytes = 2 * grain(run);
    let (source, clone) = (run.file_with("s", &bytes(1, size_bytes as usize)), run.file("c"));
    let beyond = Some(FsError::BeyondEnd { size_bytes });
    for (from, length) in
        [(0, Some(3 * size_bytes)), (2 * size_bytes, None), (size_bytes, Some(1)), (u64::MAX, Some(9))]
    {
        assert_eq!(run.clone_range((source, from, length), (clone, 0)).err(), beyond);
    }
    let limit_bytes = run.fs().limits().file_bytes;
    let too_large = run.clone_range((source, 0, None), (clone, limit_bytes));
    assert_eq!(too_large.err(), Some(FsError::FileTooLarge { limit_bytes }));
    assert_eq!(run.attributes(clone).size_bytes, 0);
}

pub(super) fn a_clone_of_overlapping_ranges_is_refused<F: Fixture>(run: &Run<F>) {
    let (grain, data) = (grain(run), bytes(1, 4 * grain(run) as usize));
    let file = run.file_with("f", &data);
    for (from, to) in [(0, grain), (grain, 0), (0, 0)] {
        assert_eq!(run.clone_range((file, from, Some(2 * grain)), (file, to)).err(), Some(FsError::Overlap));
    }
    assert!(run.get(file, 0, 1 << 16) == data);
    good(run.clone_range((file, 0, Some(2 * grain)), (file, 2 * grain)));
    assert!(run.get(file, 0, 1 << 16) == [&data[..data.len() / 2], &data[..data.len() / 2]].concat());
}

pub(super) fn a_clone_takes_holes_with_it<F: Fixture>(run: &Run<F>) {
    let grain = grain(run);
    let (source, clone) = (run.file("s"), run.file_with("c", &bytes(2, 4 * grain as usize)));
    run.resize(source, 4 * grain);
    run.put(source, grain, &bytes(1, 10));
    good(run.clone_range((source, 0, None), (clone, 0)));
    assert!(run.get(clone, 0, 1 << 16) == run.get(source, 0, 1 << 16));
    assert_eq!(run.attributes(clone).used_bytes, grain);
}

pub(super) fn a_clone_that_ends_inside_a_grain_clears_its_rest<F: Fixture>(run: &Run<F>) {
    let (grain, old) = (grain(run), bytes(2, 3 * grain(run) as usize));
    let (source, clone) = (run.file_with("s", b"short"), run.file_with("c", &old));
    good(run.clone_range((source, 0, None), (clone, grain)));
    let mut expected = old;
    let (start, end) = (grain as usize, 2 * grain as usize);
    expected[start..end].fill(0);
    expected[start..start + 5].copy_from_slice(b"short");
    assert!(run.get(clone, 0, 1 << 16) == expected);
}

pub(super) fn a_clone_leaves_its_source_unchanged<F: Fixture>(run: &Run<F>) {
    let (source, clone) = (run.file_with("s", &bytes(1, 9000)), run.file("c"));
    let before = run.attributes(source);
    let changed = good(run.clone_range((source, 0, None), (clone, 0)));
    let after = run.attributes(source);
    assert_eq!((after.change, after.modified, after.changed), (before.change, before.modified, before.changed));
    assert!(changed.after.change > changed.before.change && changed.after.modified > changed.before.modified);
}

pub(super) fn a_clone_needs_no_space<F: Fixture>(run: &Run<F>) {
    let (source, clone) = (run.file_with("s", &bytes(1, 1 << 20)), run.file("c"));
    run.leave(256 << 10);
    good(run.clone_range((source, 0, None), (clone, 0)));
    assert!(run.get(clone, 0, 1 << 20) == bytes(1, 1 << 20));
}

pub(super) fn a_clone_works_between_file_systems_of_one_engine<F: Fixture>(run: &Run<F>) {
    let (fs, other) = (run.fs(), run.another());
    assert_ne!(fs.id(), other.id());
    let source = run.file_with("s", &bytes(1, 9000));
    let new = crate::New { what: super::run::FILE, attributes: Default::default() };
    let to = good(run.end(other.create(run.call(), other.root(), &super::run::name("c"), &new))).file.file;
    let from = || Source { file_system: &fs, file: source, offset_bytes: 0, length_bytes: None };
    good(run.end(other.clone_range(run.call(), from(), to, 0)));
    assert!(run.get_of(&other, to, 0, 9000) == bytes(1, 9000));
    good(run.end(other.copy_range(run.call(), from(), to, 20_000)));
    assert!(run.get_of(&other, to, 20_000, 9000) == bytes(1, 9000));
    assert_eq!(run.find(fs.root(), "c"), Err(FsError::NotFound));
}

pub(super) fn a_source_of_another_engine_is_refused<F: Fixture>(run: &Run<F>) {
    let Some(foreign) = run.foreign() else { return };
    let file = run.file_with("f", b"own");
    let source = || Source { file_system: &foreign, file: foreign.root(), offset_bytes: 0, length_bytes: None };
    assert_eq!(run.end(run.fs().clone_range(run.call(), source(), file, 0)).err(), Some(FsError::ForeignSource));
    assert_eq!(run.end(run.fs().copy_range(run.call(), source(), file, 0)).err(), Some(FsError::ForeignSource));
    assert_eq!(run.get(file, 0, 9), b"own");
}

pub(super) fn a_clone_of_nothing_changes_nothing<F: Fixture>(run: &Run<F>) {
    let (source, clone) = (run.file_with("s", &bytes(1, 5000)), run.file("c"));
    let before = run.attributes(clone);
    for (from, length) in [(5000, None), (5000, Some(0)), (0, Some(0)), (1, Some(0))] {
        let changed = good(run.clone_range((source, from, length), (clone, 1)));
        assert_eq!((changed.before.change, changed.after), (before.change, before));
    }
    assert_eq!(run.attributes(clone), before);
}

/// Copies a range until it is done; returns bytes done and shared.
fn copy<F: Fixture>(run: &Run<F>, from: (FileId, u64), to: (FileId, u64), length: u64) -> (u64, u64) {
    let (fs, mut done, mut shared) = (run.fs(), 0, 0);
    while done < length {
        let (offset_bytes, length_bytes) = (from.1 + done, Some(length - done));
        let source = Source { file_system: &fs, file: from.0, offset_bytes, length_bytes };
        let copied = good(run.end(fs.copy_range(run.call(), source, to.0, to.1 + done)));
        assert!(
            copied.done_bytes > 0 && copied.done_bytes <= length - done && copied.shared_bytes <= copied.done_bytes
        );
        assert_eq!(copied.destination.after, run.attributes(to.0));
        done += copied.done_bytes;
        shared += copied.shared_bytes;
    }
    (done, shared)
}

pub(super) fn a_copy_of_any_bytes_is_exact<F: Fixture>(run: &Run<F>) {
    let g = grain(run) as usize;
    let mut data = bytes(1, 8 * g);
    data[2 * g..4 * g].fill(0);
    let source = run.file_with("s", &data);
    for (number, (from, to, length)) in
        [(0, 0, 8 * g), (100, 100, 5 * g), (100, 100 + g, 50), (5, 9, 6 * g), (g - 1, g - 1, 2), (g, 0, 3 * g - 7)]
            .into_iter()
            .enumerate()
    {
        let mut expected = bytes(9, 4 * g);
        let copy_to = run.file_with(&format!("c{number}"), &expected);
        let (done, shared) = copy(run, (source, from as u64), (copy_to, to as u64), length as u64);
        expected.resize(expected.len().max(to + length), 0);
        expected[to..to + length].copy_from_slice(&data[from..from + length]);
        assert!(run.get(copy_to, 0, 1 << 17) == expected, "{length} bytes from {from} to {to}");
        assert_eq!((done, shared > 0), (length as u64, from % g == to % g && length > 2 * g));
    }
    let own = run.end(run.fs().copy_range(
        run.call(),
        Source { file_system: &run.fs(), file: source, offset_bytes: 0, length_bytes: Some(10) },
        source,
        9,
    ));
    assert_eq!(own.err(), Some(FsError::Overlap));
}

pub(super) fn a_long_copy_between_grains_is_done_in_parts<F: Fixture>(run: &Run<F>) {
    let (limits, source, to) = (run.fs().limits(), run.file("s"), run.file("c"));
    assert!(limits.move_bytes >= 1 << 20);
    let length = 3 * limits.move_bytes;
    run.resize(source, length);
    run.put(source, length - 5000, &bytes(1, 5000));
    let fs = run.fs();
    let all = Source { file_system: &fs, file: source, offset_bytes: 0, length_bytes: None };
    let first = good(run.end(fs.copy_range(run.call(), all, to, 1)));
    assert!(first.done_bytes >= 1 << 20 && first.done_bytes <= limits.move_bytes, "{first:?}");
    assert_eq!(copy(run, (source, 0), (to, 1), length).0, length);
    assert!(run.get(to, length - 4999, 10_000) == bytes(1, 5000));
    assert!(run.attributes(to).used_bytes <= 4 * u64::from(limits.grain_bytes), "holes are kept");
}
