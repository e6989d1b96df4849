//! Promises of space.

use super::{Draft, range, touched};
use crate::halt::Step;
use crate::share::Share;
use std::ops::Range;
use vfs::{Call, FileId, FsError, SpaceReason};

/// Most allocations of one file that do not touch.
const MOST_ALLOTMENTS: usize = 64;

impl Share<'_> {
    pub(crate) fn allocate(
        &mut self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Step<Draft> {
        let mut target = self.changeable(call, file)?;
        let bytes = range(offset_bytes, length_bytes)?;
        let blocks = touched(&bytes);
        let object = self.object();
        if let Some(region) = target.inode.region {
            let allotted = self.look().allotted(object, region.blocks());
            let first = region.first();
            let apart = allotted.iter().filter(|range| !touches(range, &(first + blocks.start..first + blocks.end)));
            if apart.count() >= MOST_ALLOTMENTS {
                return Err(FsError::NoSpace(SpaceReason::Allocations).into());
            }
        }
        let region = self.reach(file, &mut target.inode, bytes.end)?;
        self.name().allot(object, region.first() + blocks.start..region.first() + blocks.end);
        self.complete(call, target, bytes.end)
    }
}

/// Whether two ranges overlap, or one begins where the other ends.
const fn touches(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start <= other.end && other.start <= one.end
}
