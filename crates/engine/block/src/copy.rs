//! Copies in steps: the reach of one step, and the remainder after it.

use crate::{BlockDevice, BlockError, Extent, LOGICAL_BLOCK_BYTES, Lba, VolumeId};

/// Units and step lengths of a device, in logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest write.
    pub write_blocks: u64,
    /// Longest compare-and-write.
    pub compare_and_write_blocks: u64,
    /// Unit that is mapped, shared and deallocated as a whole.
    pub mapping_unit_blocks: u64,
    /// Longest step of a copy that moves data, because source and destination differ modulo the
    /// mapping unit.
    pub move_step_blocks: u64,
    /// Longest step of a copy that shares data.
    pub share_step_blocks: u64,
    /// Unit of the map above the mapping unit: ranges that agree modulo it are shared by referring
    /// to whole parts of the map.
    pub map_unit_blocks: u64,
    /// Longest step of a copy between such ranges.
    pub map_step_blocks: u64,
}

impl Limits {
    /// Whether a copy shares storage instead of moving data.
    pub const fn shares(&self, from: Lba, to: Lba) -> bool {
        from.0 % self.mapping_unit_blocks == to.0 % self.mapping_unit_blocks
    }

    /// Blocks of the longest step of a copy between these addresses. A copy of at most that length
    /// is one step.
    pub const fn copy_step_blocks(&self, from: Lba, to: Lba) -> u64 {
        if !self.shares(from, to) {
            self.move_step_blocks
        } else if from.0 % self.map_unit_blocks != to.0 % self.map_unit_blocks {
            self.share_step_blocks
        } else {
            self.map_step_blocks
        }
    }

    /// Part of a copy that its first step covers: as long as allowed, and ending (backwards:
    /// beginning) at a mapping unit if storage is shared, so that the next step begins at one.
    pub fn step(&self, extent: Extent, to: Lba, backwards: bool) -> Extent {
        let longest = self.copy_step_blocks(extent.lba, to);
        if extent.count <= longest {
            return extent;
        }
        let unit = if self.shares(extent.lba, to) { self.mapping_unit_blocks } else { 1 };
        let (start, end) = (extent.lba.0, extent.lba.0 + extent.count);
        if backwards {
            let from = (end - longest).next_multiple_of(unit);
            Extent::new(from, end - from)
        } else {
            let until = (start + longest) / unit * unit;
            Extent::new(start, until - start)
        }
    }
}

/// Result of one step of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyStep {
    /// Blocks covered.
    pub done_blocks: u64,
    /// Bytes that now share storage with the source: metadata only.
    pub cloned_bytes: u64,
    /// Bytes that had to be read and written.
    pub copied_bytes: u64,
}

impl std::ops::AddAssign for CopyStep {
    fn add_assign(&mut self, step: Self) {
        self.done_blocks += step.done_blocks;
        self.cloned_bytes += step.cloned_bytes;
        self.copied_bytes += step.copied_bytes;
    }
}

/// Remainder of a copy.
#[derive(Clone, Copy, Debug)]
pub struct RemainingCopy {
    from: Extent,
    to: Lba,
    backwards: bool,
}

impl RemainingCopy {
    /// Starts with the whole copy.
    pub fn new(source: VolumeId, from: Extent, destination: VolumeId, to: Lba) -> Self {
        Self { from, to, backwards: Self::goes_backwards(source, from.lba, destination, to) }
    }

    /// True when steps start at the end of the remainder, so that an overlapping source is read
    /// before it is overwritten.
    pub fn goes_backwards(source: VolumeId, from: Lba, destination: VolumeId, to: Lba) -> bool {
        source == destination && to > from
    }

    /// Source and destination of the remainder; `None` when the copy is complete.
    pub const fn next(&self) -> Option<(Extent, Lba)> {
        if self.from.count == 0 { None } else { Some((self.from, self.to)) }
    }

    /// Records that a step covered `blocks`.
    pub fn advance(&mut self, blocks: u64) {
        let blocks = blocks.min(self.from.count);
        self.from.count -= blocks;
        if !self.backwards {
            self.from.lba.0 += blocks;
            self.to.0 += blocks;
        }
    }
}

/// Executes all steps of a copy, for callers that have nothing to check between them.
pub async fn copy_all<D: BlockDevice>(
    source: &D,
    extent: Extent,
    device: &D,
    destination: Lba,
) -> Result<CopyStep, BlockError> {
    let mut left = RemainingCopy::new(source.volume(), extent, device.volume(), destination);
    let mut total = CopyStep::default();
    while let Some((from, to)) = left.next() {
        let step = device.copy_from(source, from, to).await?;
        left.advance(step.done_blocks);
        total += step;
    }
    debug_assert_eq!(total.done_blocks, extent.count, "{} bytes", extent.count * u64::from(LOGICAL_BLOCK_BYTES));
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        write_blocks: 1 << 17,
        compare_and_write_blocks: 1 << 9,
        mapping_unit_blocks: 8,
        move_step_blocks: 10,
        share_step_blocks: 100,
        map_unit_blocks: 2048,
        map_step_blocks: 100_000,
    };

    #[test]
    fn steps_meet_where_mapping_units_do() {
        assert_eq!(LIMITS.step(Extent::new(3, 90), Lba(11), false), Extent::new(3, 90));
        assert_eq!(LIMITS.step(Extent::new(3, 900), Lba(11), false), Extent::new(3, 93));
        assert_eq!(LIMITS.step(Extent::new(3, 900), Lba(11), true), Extent::new(808, 95));
        assert_eq!(LIMITS.step(Extent::new(3, 900), Lba(12), false), Extent::new(3, 10));
        assert_eq!(LIMITS.step(Extent::new(3, 900), Lba(12), true), Extent::new(893, 10));
        assert_eq!(LIMITS.step(Extent::new(3, 90_000), Lba(2051), false), Extent::new(3, 90_000));
    }

    #[test]
    fn what_is_left_shrinks_from_the_side_that_steps_cover() {
        let mut up = RemainingCopy::new(VolumeId(1), Extent::new(0, 10), VolumeId(1), Lba(5));
        up.advance(4);
        assert_eq!(up.next(), Some((Extent::new(0, 6), Lba(5))));
        let mut across = RemainingCopy::new(VolumeId(1), Extent::new(0, 10), VolumeId(2), Lba(5));
        across.advance(4);
        assert_eq!(across.next(), Some((Extent::new(4, 6), Lba(9))));
        across.advance(7);
        assert_eq!(across.next(), None);
    }
}
