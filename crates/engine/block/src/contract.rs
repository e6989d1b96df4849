//! Contract tests of single calls of [`BlockDevice`], run over every implementation.
//!
//! An implementation's test creates a [`Fixture`] and calls [`holds`]. These parts of the contract are
//! not tested here, but with each engine: that a call takes effect in one instant against concurrent
//! calls, what is durable when it returns, write caches, mapping resources, changes of size, failures.

use crate::{BlockDevice, BlockError, CompareOutcome, Durability, Extent, Lba, RemainingCopy, VolumeId, copy_all};
use bytes::Bytes;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Implementation under test.
pub trait Fixture {
    /// Device type.
    type Device: BlockDevice + Clone + 'static;
    /// Creates a device of the engine under test, completely deallocated.
    fn device(&mut self, block_count: u64) -> Self::Device;
    /// Creates a device of the same type in another engine; `None` where only one engine exists.
    fn foreign(&mut self, block_count: u64) -> Option<Self::Device>;
    /// Runs the engine; called while a future is pending.
    fn turn(&mut self);
}

const BLOCKS: u64 = 16_384;

struct Run<F>(F);

impl<F: Fixture> Run<F> {
    fn end<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        for _ in 0..1_000_000 {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return output;
            }
            self.0.turn();
        }
        panic!("a call never returns")
    }

    fn write(&mut self, device: &F::Device, lba: u64, data: &[u8]) {
        let extent = Extent::new(lba, data.len() as u64 / 512);
        let written = self.end(device.write(extent, Bytes::copy_from_slice(data), Durability::AsConfigured));
        assert_eq!(written, Ok(()));
    }

    fn read(&mut self, device: &F::Device, lba: u64, count: u64) -> Vec<u8> {
        match self.end(device.read(Extent::new(lba, count))) {
            Ok(data) => data.to_vec(),
            Err(error) => panic!("a read fails: {error}"),
        }
    }
}

/// Content in which every word differs, by `mark` and by its number.
fn content(mark: u64, count: u64) -> Vec<u8> {
    (0..count * 64).flat_map(|word| ((mark << 32) | (word + 1)).to_le_bytes()).collect()
}

/// Checks the results of single calls, one after the other. Panics at the first violation.
pub fn holds(fixture: impl Fixture) {
    let mut run = Run(fixture);
    content_is_what_was_written(&mut run);
    what_is_out_of_range_changes_nothing(&mut run);
    a_call_that_is_too_long_changes_nothing(&mut run);
    compare_and_write_does_both_or_nothing(&mut run);
    unmap_checks_all_before_the_first(&mut run);
    a_copy_ends_and_is_exact(&mut run);
    a_foreign_source_is_refused(&mut run);
    a_capture_keeps_what_was_there(&mut run);
    data_of_another_length_is_refused(&mut run);
    only_captures_are_discarded(&mut run);
}

fn content_is_what_was_written<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    assert_eq!((device.block_count(), device.read_only()), (BLOCKS, false));
    assert_eq!(run.read(&device, 0, 9), vec![0; 9 * 512]);
    let data = content(1, 21);
    run.write(&device, 3, &data);
    assert_eq!(run.read(&device, 3, 21), data);
    assert_eq!(run.read(&device, 2, 1), vec![0; 512]);
    assert_eq!(run.read(&device, 24, 1), vec![0; 512]);
    assert_eq!(run.end(device.zero(Extent::new(4, 3), Durability::Forced)), Ok(()));
    assert_eq!(run.read(&device, 4, 3), vec![0; 3 * 512]);
    assert_eq!(run.read(&device, 3, 1), data[..512]);
    assert_eq!(run.read(&device, 7, 1), data[4 * 512..5 * 512]);
    let runs = match run.end(device.provisioning(Lba(0), 100)) {
        Ok(runs) => runs,
        Err(error) => panic!("provisioning fails: {error}"),
    };
    let mut next = 0;
    for status in &runs {
        assert_eq!(status.extent.lba.0, next, "runs are consecutive");
        next += status.extent.count;
    }
    assert!(runs.iter().any(|status| status.mapped) && next > 24, "{runs:?}");
    assert_eq!(run.end(device.flush()), Ok(()));
}

fn what_is_out_of_range_changes_nothing<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    let beyond = Extent::new(BLOCKS - 1, 2);
    let refused = Some(BlockError::OutOfRange { lba: BLOCKS - 1, count: 2, device_blocks: BLOCKS });
    let data = Bytes::from(content(2, 2));
    assert_eq!(run.end(device.read(beyond)).err(), refused);
    assert_eq!(run.end(device.write(beyond, data.clone(), Durability::AsConfigured)).err(), refused);
    let compared = device.compare_and_write(beyond, data.clone(), data, Durability::AsConfigured);
    assert_eq!(run.end(compared).err(), refused);
    assert_eq!(run.end(device.zero(beyond, Durability::AsConfigured)).err(), refused);
    assert_eq!(run.end(device.copy_from(&device, beyond, Lba(0))).err(), refused);
    assert_eq!(run.end(device.copy_from(&device, Extent::new(0, 2), beyond.lba)).err(), refused);
    assert!(run.end(device.read(Extent::new(u64::MAX, 1))).is_err());
    assert_eq!(run.read(&device, BLOCKS - 1, 1), vec![0; 512]);
    // An empty extent inside or at the end is a success that does nothing.
    for lba in [0, BLOCKS] {
        let empty = Extent::new(lba, 0);
        assert_eq!(run.end(device.read(empty)), Ok(Bytes::new()));
        assert_eq!(run.end(device.write(empty, Bytes::new(), Durability::AsConfigured)), Ok(()));
        assert_eq!(run.end(device.zero(empty, Durability::AsConfigured)), Ok(()));
        assert_eq!(run.end(device.copy_from(&device, empty, Lba(lba))).map(|step| step.done_blocks), Ok(0));
    }
}

fn a_call_that_is_too_long_changes_nothing<F: Fixture>(run: &mut Run<F>) {
    let limits = run.0.device(BLOCKS).limits();
    let device = run.0.device(limits.write_blocks.max(limits.compare_and_write_blocks) + 8);
    let all = |value: u8, count: u64| Bytes::from(vec![value; usize::try_from(count * 512).unwrap_or_default()]);
    let limit = limits.write_blocks;
    let data = all(1, limit + 1);
    let written = run.end(device.write(Extent::new(0, limit + 1), data, Durability::AsConfigured));
    assert_eq!(written, Err(BlockError::TooLong { count: limit + 1, limit }));
    let limit = limits.compare_and_write_blocks;
    let (zeros, data) = (all(0, limit + 1), all(1, limit + 1));
    let extent = Extent::new(0, limit + 1);
    let compared = run.end(device.compare_and_write(extent, zeros.clone(), data.clone(), Durability::AsConfigured));
    assert_eq!(compared, Err(BlockError::TooLong { count: limit + 1, limit }));
    assert_eq!(run.read(&device, 0, 1), vec![0; 512]);
    // One block less is not too long.
    let (extent, zeros, data) = (Extent::new(0, limit), zeros.slice(512..), data.slice(512..));
    let compared = run.end(device.compare_and_write(extent, zeros, data, Durability::AsConfigured));
    assert_eq!(compared, Ok(CompareOutcome::Written));
}

fn compare_and_write_does_both_or_nothing<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    let (old, new) = (content(3, 3), content(4, 3));
    run.write(&device, 5, &old);
    let extent = Extent::new(5, 3);
    let mut wrong = old.clone();
    wrong[700] ^= 1;
    let ends = |run: &mut Run<F>, compare: &[u8]| {
        let (compare, data) = (Bytes::copy_from_slice(compare), Bytes::copy_from_slice(&new));
        run.end(device.compare_and_write(extent, compare, data, Durability::AsConfigured))
    };
    assert_eq!(ends(run, &wrong), Ok(CompareOutcome::Miscompare { offset_bytes: 700 }));
    assert_eq!(run.read(&device, 5, 3), old);
    assert_eq!(ends(run, &old), Ok(CompareOutcome::Written));
    assert_eq!(run.read(&device, 5, 3), new);
}

fn unmap_checks_all_before_the_first<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    let data = content(5, 16);
    run.write(&device, 0, &data);
    let extents = [Extent::new(0, 8), Extent::new(BLOCKS, 1)];
    assert!(matches!(run.end(device.unmap(&extents)), Err(BlockError::OutOfRange { .. })));
    assert_eq!(run.read(&device, 0, 16), data);
    assert_eq!(run.end(device.unmap(&extents[..1])), Ok(()));
    assert_eq!(run.read(&device, 0, 8), vec![0; 8 * 512]);
    assert_eq!(run.read(&device, 8, 8), data[8 * 512..]);
}

/// Copies within a device, in both directions and overlapping, and between devices. The steps cover
/// the whole copy, and the result is the source's content before the copy.
fn a_copy_ends_and_is_exact<F: Fixture>(run: &mut Run<F>) {
    let limits_hold = |device: &F::Device| {
        let limits = device.limits();
        assert!(limits.mapping_unit_blocks.is_power_of_two() && limits.map_unit_blocks.is_power_of_two());
        assert!(limits.move_step_blocks > 0 && limits.share_step_blocks >= limits.mapping_unit_blocks);
    };
    for (from, to, count) in [(0, 4096, 3000), (8, 3, 6000), (3, 8, 6000), (16, 80, 6000), (80, 16, 6000), (1, 8001, 5)]
    {
        for across in [false, true] {
            let source = run.0.device(BLOCKS);
            let target = if across { run.0.device(BLOCKS) } else { source.clone() };
            limits_hold(&source);
            let data = content(6, count);
            for (at, part) in (0..).zip(data.chunks(512 * 1024)) {
                run.write(&source, from + at * 1024, part);
            }
            let extent = Extent::new(from, count);
            let mut left = RemainingCopy::new(source.volume(), extent, target.volume(), Lba(to));
            let mut done_blocks = 0;
            while let Some((part, at)) = left.next() {
                let longest = target.limits().copy_step_blocks(part.lba, at);
                let step = match run.end(target.copy_from(&source, part, at)) {
                    Ok(step) => step,
                    Err(error) => panic!("a copy fails: {error}"),
                };
                assert!(step.done_blocks > 0 && step.done_blocks <= part.count.min(longest), "{step:?} of {part:?}");
                assert_eq!(step.cloned_bytes + step.copied_bytes, step.done_blocks * 512, "{step:?}");
                left.advance(step.done_blocks);
                done_blocks += step.done_blocks;
            }
            assert_eq!(done_blocks, count);
            assert!(run.read(&target, to, count) == data, "{count} blocks from {from} to {to}, across: {across}");
            if across {
                assert!(run.read(&source, from, count) == data);
            }
        }
    }
}

fn a_foreign_source_is_refused<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    let Some(foreign) = run.0.foreign(BLOCKS) else { return };
    let (own, theirs) = (content(7, 8), content(8, 8));
    run.write(&device, 0, &own);
    run.write(&foreign, 0, &theirs);
    assert_eq!(run.end(device.copy_from(&foreign, Extent::new(0, 8), Lba(0))), Err(BlockError::ForeignSource));
    assert_eq!(run.read(&device, 0, 8), own);
}

fn a_capture_keeps_what_was_there<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    let data = content(9, 32);
    run.write(&device, 0, &data);
    let capture = match run.end(device.capture(&[Extent::new(8, 16)])) {
        Ok(capture) => capture,
        Err(error) => panic!("a capture fails: {error}"),
    };
    assert!(capture.read_only() && capture.block_count() == BLOCKS && capture.volume() != device.volume());
    assert_ne!(capture.volume(), VolumeId(0));
    run.write(&device, 8, &content(10, 8));
    assert_eq!(run.read(&capture, 8, 16), data[8 * 512..24 * 512]);
    assert_eq!(run.read(&capture, 24, 8), vec![0; 8 * 512]);
    let write = capture.write(Extent::new(8, 1), Bytes::from(vec![1; 512]), Durability::AsConfigured);
    assert_eq!(run.end(write), Err(BlockError::ReadOnly));
    let target = run.0.device(BLOCKS);
    assert_eq!(run.end(copy_all(&capture, Extent::new(8, 16), &target, Lba(0))).map(|step| step.done_blocks), Ok(16));
    assert_eq!(run.read(&target, 0, 16), data[8 * 512..24 * 512]);
    // A read-only device refuses every change, also one of nothing.
    for count in [0, 1] {
        let (extent, data) = (Extent::new(8, count), Bytes::from(vec![1; count as usize * 512]));
        assert_eq!(run.end(capture.write(extent, data, Durability::AsConfigured)), Err(BlockError::ReadOnly));
        assert_eq!(run.end(capture.zero(extent, Durability::AsConfigured)), Err(BlockError::ReadOnly));
        assert_eq!(run.end(capture.copy_from(&device, extent, Lba(8))), Err(BlockError::ReadOnly));
    }
    let too_far = [Extent::new(BLOCKS, 1)];
    assert!(matches!(run.end(device.capture(&too_far)), Err(BlockError::OutOfRange { .. })));
    capture.discard();
    for _ in 0..1000 {
        run.0.turn();
    }
    assert_eq!(run.end(capture.read(Extent::new(8, 1))), Err(BlockError::Gone));
    assert_eq!(run.end(capture.read(Extent::new(8, 0))), Err(BlockError::Gone));
}

fn data_of_another_length_is_refused<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    let old = content(11, 4);
    run.write(&device, 0, &old);
    let extent = Extent::new(0, 2);
    for bytes in [0, 512, 1023, 1025, 1536] {
        let data = Bytes::from(vec![1; bytes]);
        let written = run.end(device.write(extent, data.clone(), Durability::AsConfigured));
        assert!(matches!(written, Err(BlockError::Internal { .. })), "{bytes} bytes: {written:?}");
        let whole = Bytes::copy_from_slice(&old[..1024]);
        for (compare, data) in [(whole.clone(), data.clone()), (data, whole)] {
            let compared = run.end(device.compare_and_write(extent, compare, data, Durability::AsConfigured));
            assert!(matches!(compared, Err(BlockError::Internal { .. })), "{bytes} bytes: {compared:?}");
        }
    }
    assert_eq!(run.read(&device, 0, 4), old);
}

fn only_captures_are_discarded<F: Fixture>(run: &mut Run<F>) {
    let device = run.0.device(BLOCKS);
    let data = content(12, 4);
    run.write(&device, 0, &data);
    device.discard();
    for _ in 0..1000 {
        run.0.turn();
    }
    assert_eq!(run.read(&device, 0, 4), data);
    let runs = run.end(device.provisioning(Lba(0), 1)).map(|runs| runs.len());
    assert_eq!(runs, Ok(1));
}
