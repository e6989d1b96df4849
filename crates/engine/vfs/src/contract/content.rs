//! Rules of content: reads, writes, sizes, holes.

use super::Fixture;
use super::run::{FILE, Run, bytes, good};
use crate::{FileId, FileSystem, FsError, Kind, NewKind, Seek, Segment, Stability};
use random::Random;

pub(super) fn content_is_what_was_written<F: Fixture>(run: &Run<F>) {
    let (data, other) = (bytes(1, 20_000), run.file_with("other", b"other"));
    let file = run.file_with("f", &data);
    assert_eq!(run.get(file, 0, 20_000), data);
    assert_eq!(run.get(file, 4095, 2), data[4095..4097]);
    run.put(file, 5000, &bytes(2, 7));
    assert_eq!(run.get(file, 4999, 9), [&data[4999..5000], &bytes(2, 7)[..], &data[5007..5008]].concat());
    assert_eq!((run.attributes(file).size_bytes, run.get(other, 0, 9)), (20_000, b"other".to_vec()));
}

pub(super) fn a_read_ends_with_the_file_and_says_so<F: Fixture>(run: &Run<F>) {
    let (file, empty) = (run.file_with("f", &bytes(1, 5000)), run.file("g"));
    let read = |file, offset, length| {
        let content = good(run.end(run.fs().read(run.call(), file, offset, length)));
        (content.length_bytes(), content.end_of_file)
    };
    assert_eq!(read(file, 0, 4096), (4096, false));
    assert_eq!(read(file, 4096, 904), (904, true));
    assert_eq!(read(file, 4096, 8192), (904, true));
    assert_eq!(read(file, 4000, 999), (999, false));
    for offset in [5000, 5001, u64::MAX] {
        assert_eq!(read(file, offset, 10), (0, true));
    }
    assert_eq!((read(file, 0, 0), read(empty, 0, 0)), ((0, false), (0, true)));
}

pub(super) fn a_write_behind_the_end_leaves_zeros_between<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"abc");
    run.put(file, 10_000, b"def");
    assert_eq!(run.get(file, 0, 20_000), [&b"abc"[..], &[0; 9_997], b"def"].concat());
}

pub(super) fn a_write_of_nothing_changes_nothing<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", b"abc");
    let before = run.attributes(file);
    for offset in [0, 3, 100] {
        let changed = good(run.write(run.call(), file, offset, b"", Stability::Durable));
        assert_eq!((changed.before.change, changed.after), (before.change, before));
    }
    assert_eq!(run.attributes(file), before);
}

pub(super) fn a_file_that_shrank_shows_no_old_bytes_when_it_grows<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 10_000));
    run.resize(file, 5000);
    assert!(run.get(file, 0, 20_000) == bytes(1, 10_000)[..5000]);
    run.resize(file, 20_000);
    assert!(run.get(file, 5000, 20_000) == [0; 15_000]);
    run.resize(file, 4097);
    run.put(file, 8191, b"x");
    assert_eq!(run.get(file, 4096, 4096), [&bytes(1, 10_000)[4096..4097], &[0; 4094], b"x"].concat());
    run.resize(file, 0);
    assert_eq!((run.get(file, 0, 9), run.attributes(file).used_bytes), (vec![], 0));
}

pub(super) fn ranges_beyond_the_largest_file_change_nothing<F: Fixture>(run: &Run<F>) {
    let (fs, file) = (run.fs(), run.file_with("f", b"abc"));
    let (before, limit_bytes) = (run.attributes(file), run.fs().limits().file_bytes);
    let too_large = Some(FsError::FileTooLarge { limit_bytes });
    assert_eq!(run.write(run.call(), file, limit_bytes - 1, b"xy", Stability::Durable).err(), too_large);
    assert_eq!(run.write(run.call(), file, u64::MAX, b"xy", Stability::Durable).err(), Some(FsError::BadRange));
    assert_eq!(run.end(fs.zero(run.call(), file, limit_bytes, 1)).err(), too_large);
    assert_eq!(run.end(fs.allocate(run.call(), file, limit_bytes, 1)).err(), too_large);
    for (offset, length) in [(u64::MAX, 2), (0, 0)] {
        assert_eq!(run.end(fs.zero(run.call(), file, offset, length)).err(), Some(FsError::BadRange));
        assert_eq!(run.end(fs.allocate(run.call(), file, offset, length)).err(), Some(FsError::BadRange));
        assert_eq!(run.end(fs.deallocate(run.call(), file, offset, length)).err(), Some(FsError::BadRange));
    }
    assert_eq!(run.attributes(file), before);
    run.put(file, limit_bytes - 1, b"x");
    assert_eq!(run.attributes(file).size_bytes, limit_bytes);
}

pub(super) fn a_call_that_is_too_long_changes_nothing<F: Fixture>(run: &Run<F>) {
    let (file, limit) = (run.file("f"), run.fs().limits().io_bytes);
    let data = bytes(1, limit as usize + 1);
    let too_long = Some(FsError::TooLong { bytes: u64::from(limit) + 1, limit_bytes: u64::from(limit) });
    assert_eq!(run.write(run.call(), file, 0, &data, Stability::Durable).err(), too_long);
    assert_eq!(run.end(run.fs().read(run.call(), file, 0, limit + 1)).err(), too_long);
    assert_eq!(run.attributes(file).size_bytes, 0);
    run.put(file, 0, &data[1..]);
    assert!(run.get(file, 0, limit) == data[1..]);
}

pub(super) fn other_kinds_have_no_content<F: Fixture>(run: &Run<F>) {
    let (fs, fifo, file) = (run.fs(), run.new_in(run.root(), "p", NewKind::Fifo), run.file_with("f", b"abc"));
    for (other, error) in [(run.root(), FsError::IsDirectory), (fifo, FsError::WrongKind { kind: Kind::Fifo })] {
        let error = Some(error);
        assert_eq!(run.end(fs.read(run.call(), other, 0, 1)).err(), error);
        assert_eq!(run.write(run.call(), other, 0, b"x", Stability::Durable).err(), error);
        assert_eq!(run.end(fs.commit(other)).err(), error);
        assert_eq!(run.end(fs.seek(run.call(), other, 0, Seek::Data)).err(), error);
        assert_eq!(run.end(fs.zero(run.call(), other, 0, 1)).err(), error);
        assert_eq!(run.end(fs.allocate(run.call(), other, 0, 1)).err(), error);
        assert_eq!(run.end(fs.deallocate(run.call(), other, 0, 1)).err(), error);
        assert_eq!(run.clone_range((other, 0, None), (file, 0)).err(), error);
        assert_eq!(run.clone_range((file, 0, None), (other, 0)).err(), error);
    }
}

/// Writes, sizes, zeros, holes at random places, against a vector.
pub(super) fn any_bytes_at_any_offset_equal_a_model<F: Fixture>(run: &Run<F>) {
    let (fs, file, mut model) = (run.fs(), run.file("f"), Vec::new());
    let random = Random::new(1);
    for step in 0..400 {
        let (offset, length) = (random.index(30_000), random.index(9_000) + 1);
        let (from, until) = (offset.min(model.len()), (offset + length).min(model.len()));
        match random.below(4) {
            0 => {
                model.resize(offset, 0);
                run.resize(file, offset as u64);
            }
            1 => {
                good(run.end(fs.deallocate(run.call(), file, offset as u64, length as u64)));
                model[from..until].fill(0);
            }
            _ => {
                model.resize(model.len().max(offset + length), 0);
                model[offset..offset + length].copy_from_slice(&bytes(step, length));
                run.put(file, offset as u64, &bytes(step, length));
            }
        }
        assert!(run.get(file, 0, 100_000) == model, "step {step}");
    }
}

/// A file of 6 grains, of which numbers 1 and 4 have data; its data.
fn sparse<F: Fixture>(run: &Run<F>, grain: usize) -> (FileId, Vec<u8>) {
    let (file, data) = (run.file("sparse"), bytes(3, grain));
    run.resize(file, 6 * grain as u64);
    run.put(file, grain as u64, &data);
    run.put(file, 4 * grain as u64, &data);
    (file, data)
}

fn grain<F: Fixture>(run: &Run<F>) -> usize {
    run.fs().limits().grain_bytes as usize
}

pub(super) fn grains_of_zeros_are_holes<F: Fixture>(run: &Run<F>) {
    let grain = grain(run);
    let file = run.file_with("f", &vec![0; 16 * grain]);
    assert_eq!((run.attributes(file).used_bytes, run.attributes(file).size_bytes), (0, 16 * grain as u64));
    run.put(file, 0, &bytes(1, 2 * grain));
    run.put(file, 0, &vec![0; grain]);
    assert_eq!(run.attributes(file).used_bytes, grain as u64);
}

pub(super) fn a_read_shows_holes_and_data_in_order<F: Fixture>(run: &Run<F>) {
    let grain = grain(run);
    let (file, data) = sparse(run, grain);
    let read = |offset, length| good(run.end(run.fs().read(run.call(), file, offset as u64, length as u32)));
    let content = read(100, 5 * grain - 100);
    let mut at = 100;
    let mut last_hole = false;
    for segment in &content.segments {
        let length = segment.length_bytes() as usize;
        assert!(length > 0);
        match segment {
            Segment::Hole { .. } => assert!(!last_hole, "two holes in a row"),
            Segment::Data(found) => assert_eq!(&found[..], &data[at % grain..at % grain + length]),
        }
        last_hole = matches!(segment, Segment::Hole { .. });
        let in_data = [1, 4].contains(&(at / grain));
        assert_eq!(in_data, !last_hole, "at {at}");
        at += length;
    }
    assert_eq!((at, content.end_of_file), (5 * grain, false));
    assert_eq!(read(2 * grain, 2 * grain).segments[..], [Segment::Hole { length_bytes: 2 * grain as u64 }]);
}

pub(super) fn a_seek_finds_data_and_holes_from_its_start<F: Fixture>(run: &Run<F>) {
    let grain = u64::from(run.fs().limits().grain_bytes);
    let (file, _) = sparse(run, grain as usize);
    let seek = |file, offset, what| {
        run.end(run.fs().seek(run.call(), file, offset, what)).map(|sought| (sought.offset_bytes, sought.end_of_file))
    };
    for (offset, data, hole) in [
        (0, (grain, false), (0, false)),
        (7, (grain, false), (7, false)),
        (grain, (grain, false), (2 * grain, false)),
        (grain + 9, (grain + 9, false), (2 * grain, false)),
        (2 * grain, (4 * grain, false), (2 * grain, false)),
        (5 * grain + 1, (6 * grain, true), (5 * grain + 1, false)),
    ] {
        assert_eq!(seek(file, offset, Seek::Data), Ok(data), "from {offset}");
        assert_eq!(seek(file, offset, Seek::Hole), Ok(hole), "from {offset}");
    }
    let full = run.file_with("full", &bytes(1, 10_000));
    assert_eq!((seek(full, 0, Seek::Data), seek(full, 0, Seek::Hole)), (Ok((0, false)), Ok((10_000, true))));
    for offset in [10_000, u64::MAX] {
        assert_eq!(seek(full, offset, Seek::Data), Err(FsError::BeyondEnd { size_bytes: 10_000 }));
        assert_eq!(seek(full, offset, Seek::Hole), Err(FsError::BeyondEnd { size_bytes: 10_000 }));
    }
}

pub(super) fn deallocated_bytes_are_zero_and_the_others_stay<F: Fixture>(run: &Run<F>) {
    let grain = grain(run);
    let (data, g) = (bytes(1, 4 * grain), grain as u64);
    let file = run.file_with("f", &data);
    good(run.end(run.fs().deallocate(run.call(), file, 100, 2 * g)));
    let expected = [&data[..100], &vec![0; 2 * grain], &data[100 + 2 * grain..]].concat();
    assert!(run.get(file, 0, 4 * grain as u32) == expected);
    assert_eq!(run.attributes(file).used_bytes, 3 * g);
}

pub(super) fn deallocation_keeps_the_size<F: Fixture>(run: &Run<F>) {
    let file = run.file_with("f", &bytes(1, 10_000));
    good(run.end(run.fs().deallocate(run.call(), file, 5000, u64::MAX - 5000)));
    assert_eq!(run.get(file, 4999, 9_000).len(), 5001);
    let attributes = run.attributes(file);
    assert_eq!(attributes.size_bytes, 10_000);
    assert_eq!(attributes.used_bytes, 8192.max(2 * u64::from(run.fs().limits().grain_bytes)));
    good(run.end(run.fs().deallocate(run.call(), file, 20_000, 5000)));
    assert_eq!(run.attributes(file), attributes);
}

pub(super) fn zeroed_bytes_are_zero_and_the_file_grows<F: Fixture>(run: &Run<F>) {
    let data = bytes(1, 10_000);
    let file = run.file_with("f", &data);
    good(run.end(run.fs().zero(run.call(), file, 5000, 1 << 30)));
    assert_eq!(run.attributes(file).size_bytes, 5000 + (1 << 30));
    assert_eq!(run.get(file, 0, 20_000), [&data[..5000], &[0; 15_000]].concat());
    let other = run.new_in(run.root(), "g", FILE);
    good(run.end(run.fs().zero(run.call(), other, 0, 10)));
    assert_eq!(run.get(other, 0, 20), vec![0; 10]);
}
