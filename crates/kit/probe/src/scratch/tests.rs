#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;
use crate::verdict::pattern;
use data_mover::Identity;
use data_mover::memory::{MemoryDevice, MemoryUnit};
use std::cell::Cell;
use std::rc::Rc;

const LBA: u64 = 2048;
const BLOCKS: u64 = 384;

/// Runs a test on a scratch range of a unit that holds `before` there.
fn with_scratch(before: Option<&[u8]>, test: impl AsyncFnOnce(MemoryDevice, Scratch)) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let unit = MemoryDevice::new(&Rc::new(MemoryUnit::default()), 1, 1, 8192);
        if let Some(before) = before {
            unit.unit().poke(LBA, before);
        }
        let scratch = Scratch::keep(&unit, (LBA, before.is_none()), true).await.unwrap();
        test(unit, scratch).await;
    });
}

async fn content(unit: &MemoryDevice) -> Bytes {
    unit.read(Extent { lba: LBA, blocks: BLOCKS }).await.unwrap()
}

/// Regression: the write test overwrote a guest's concurrent writes to its range.
#[test]
fn foreign_writes_are_kept_and_reported() {
    let before = pattern(1, 192 << 10);
    with_scratch(Some(&before), async |unit, scratch| {
        scratch.write(&unit, scratch.at(0), pattern(2, 64 << 10)).await.unwrap();
        scratch.check(&unit).await.unwrap();
        // Where the test wrote, and where it did not.
        for lba in [LBA + 3, LBA + 300] {
            unit.write(lba, pattern(3, 512)).await.unwrap();
        }
        let error = scratch.check(&unit).await.unwrap_err();
        assert!(
            matches!(error, ProbeError::ForeignWrite { first, last } if first == LBA + 3 && last == first),
            "{error}"
        );
        let error = scratch.restore(&unit).await.unwrap_err();
        assert!(error.to_string().starts_with("another host or process writes to blocks 2051 to 2051; "), "{error}");
        let mut expected = before.to_vec();
        for at in [3 * 512, 300 * 512] {
            expected[at..at + 512].copy_from_slice(&pattern(3, 512));
        }
        assert_eq!(content(&unit).await, expected);
    });
    // The same on an unmapped range.
    with_scratch(None, async |unit, scratch| {
        scratch.write(&unit, scratch.at(0), pattern(2, 64 << 10)).await.unwrap();
        unit.write(LBA + 3, pattern(3, 512)).await.unwrap();
        assert!(matches!(scratch.restore(&unit).await, Err(ProbeError::ForeignWrite { .. })));
        assert_eq!(unit.read(Extent { lba: LBA + 3, blocks: 1 }).await.unwrap(), pattern(3, 512));
        assert_eq!(unit.unit().allocated(), 1);
    });
}

/// Regression: a guest's write between the read and the restore of the range was lost.
#[test]
fn a_late_foreign_write_is_kept() {
    let before = pattern(1, 192 << 10);
    with_scratch(Some(&before), async |unit, scratch| {
        scratch.write(&unit, scratch.at(0), pattern(2, 64 << 10)).await.unwrap();
        let (shared, reads) = (unit.unit().clone(), Cell::new(0));
        let late = unit.clone().with_delay(Rc::new(move || {
            // During the first command, which reads.
            if reads.replace(reads.get() + 1) == 0 {
                shared.poke(LBA + 3, &pattern(3, 512));
            }
            Box::pin(std::future::ready(()))
        }));
        let error = scratch.restore(&late).await.unwrap_err();
        assert!(matches!(error, ProbeError::ForeignWrite { first, last } if first == LBA + 3 && last == first));
        let mut expected = before.to_vec();
        expected[3 * 512..4 * 512].copy_from_slice(&pattern(3, 512));
        assert_eq!(content(&unit).await, expected);
    });
}

/// Regression: in a full pool the data was written back first, which failed, and the blocks were
/// then not unmapped.
#[test]
fn unmapped_blocks_are_unmapped_again_in_a_full_pool() {
    with_scratch(None, async |unit, scratch| {
        scratch.write(&unit, scratch.at(0), pattern(2, 64 << 10)).await.unwrap();
        let full = unit.clone().with_space(0);
        scratch.restore(&full).await.unwrap();
        assert_eq!(unit.unit().allocated(), 0);
    });
    let before = pattern(1, 192 << 10);
    with_scratch(Some(&before), async |unit, scratch| {
        scratch.write(&unit, scratch.at(1), pattern(2, 64 << 10)).await.unwrap();
        let without = |identity: &mut Identity| identity.limits.compare_and_write = 0;
        let failed = scratch.restore(&unit.clone().with_space(0).with(without)).await.unwrap_err();
        assert!(failed.is_full(), "{failed}");
        scratch.restore(&unit).await.unwrap();
        assert_eq!(content(&unit).await, before);
    });
}

/// A command without an answer may have been carried out or not; both contents are the test's own.
#[test]
fn content_before_and_after_an_unanswered_write_is_known() {
    let before = pattern(1, 192 << 10);
    with_scratch(Some(&before), async |unit, scratch| {
        let (one, other) = (pattern(2, 64 << 10), pattern(3, 64 << 10));
        scratch.write(&unit, LBA, one.clone()).await.unwrap();
        scratch.settle(LBA, &one);
        scratch.note(LBA, &other);
        scratch.check(&unit).await.unwrap();
        unit.write(LBA, other.slice(..32 << 10)).await.unwrap();
        scratch.check(&unit).await.unwrap();
        scratch.settle(LBA, &other);
        // Overwritten content is no longer expected, unless the array lost acknowledged writes.
        assert!(matches!(scratch.check(&unit).await, Err(ProbeError::ForeignWrite { first: 2112, last: 2175 })));
        scratch.recall();
        scratch.restore(&unit).await.unwrap();
        assert_eq!(content(&unit).await, before);
        let count = |number: u8| Bytes::from([&[0, 0, 1, number][..], &[7; 508]].concat());
        scratch.note_counted(LBA, &count(0));
        unit.write(LBA, count(200)).await.unwrap();
        scratch.restore(&unit).await.unwrap();
        assert_eq!(content(&unit).await, before);
    });
}
