//! Regions: allocation in the bitmaps, growth of a file into a larger one, release.

use crate::engine::BLOCK_BYTES;
use crate::halt::{Halt, Step};
use crate::layout::address::{BITS_PER_BLOCK, Class, Part, ROOT, Region};
use crate::layout::nodes::{bit, set_bit, zero_bit};
use crate::share::Share;
use vfs::{FileId, FsError, SpaceReason};

/// Bitmap blocks that one attempt looks at one by one.
const MOST_SCANNED: u64 = 64;

impl Share<'_> {
    /// Region of a class for the content of a file.
    pub(crate) fn new_region(&mut self, class: Class, file: FileId) -> Step<Region> {
        let region = self.free_region_of(class, file)?;
        self.expect(region, file)?;
        Ok(region)
    }

    fn free_region_of(&mut self, class: Class, file: FileId) -> Step<Region> {
        if !class.is_allocated() {
            return Ok(Region::of_file(class, Part::Content, file));
        }
        let hint = self.memory().hint(class);
        let number = match self.free_region_from(class, hint)? {
            None if hint > 0 => self.free_region_from(class, 0)?,
            found => found,
        };
        let number = number.ok_or(FsError::NoSpace(SpaceReason::Regions))?;
        let region = Region { class, number };
        self.set_region(region, true)?;
        self.effects().hint(class, number + 1);
        Ok(region)
    }

    /// First free region at or behind a number: in the next bitmap blocks, else in one that is not stored.
    fn free_region_from(&mut self, class: Class, from: u64) -> Step<Option<u64>> {
        let bitmap = class.bitmap();
        let start = bitmap.start + from / BITS_PER_BLOCK;
        let scanned = start..(start + MOST_SCANNED).min(bitmap.end);
        for block in scanned.clone() {
            let first = if block == start { (from % BITS_PER_BLOCK) as u32 } else { 0 };
            let found = zero_bit(self.block(block, ROOT)?, first).map(u64::from);
            let number = found.map(|bit| (block - bitmap.start) * BITS_PER_BLOCK + bit);
            if let Some(number) = number.filter(|number| *number < class.regions()) {
                return Ok(Some(number));
            }
        }
        let (object, rest) = (self.object(), scanned.end..bitmap.end);
        let unmapped = self.look().next_unmapped(object, rest).map_err(|missing| missing.of(ROOT))?;
        Ok((unmapped < bitmap.end).then(|| (unmapped - bitmap.start) * BITS_PER_BLOCK))
    }

    /// Marks a region as used or free.
    fn set_region(&mut self, region: Region, used: bool) -> Step<()> {
        let (block, at) = region.bit();
        let byte = at as usize / 8;
        let mut bits = [self.block(block, ROOT)?[byte]];
        if bit(&bits, at as u32 % 8) == used {
            let reason = format!("region {} of class {:?} is not what the bitmap says", region.number, region.class);
            return Err(FsError::Internal { reason }.into());
        }
        set_bit(&mut bits, at as u32 % 8, used);
        self.put_bytes(block, byte, &bits, ROOT)
    }

    /// Frees a region with everything in it.
    pub(crate) fn free_region(&mut self, region: Region) -> Step<()> {
        let object = self.object();
        let bytes = region.bytes(0..region.class.blocks() * BLOCK_BYTES);
        self.name().zero(object, bytes);
        self.name().release(object, region.blocks());
        self.give_back(region)
    }

    /// Returns the number of a region.
    fn give_back(&mut self, region: Region) -> Step<()> {
        if !region.class.is_allocated() {
            return Ok(());
        }
        self.set_region(region, false)?;
        if region.number < self.memory().hint(region.class) {
            self.effects().hint(region.class, region.number);
        }
        Ok(())
    }

    /// Moves the first blocks of a region to one of another class, with allotments. The old region is free, and
    /// neither may be looked at after that.
    pub(crate) fn move_region(&mut self, from: Region, class: Class, file: FileId) -> Step<Region> {
        let to = self.new_region(class, file)?;
        let object = self.object();
        let allotted = self.look().allotted(object, from.blocks());
        let view = self.name();
        view.share((object, from.first()), (object, to.first()), from.class.blocks());
        view.zero(object, from.bytes(0..from.class.blocks() * BLOCK_BYTES));
        view.release(object, from.blocks());
        for range in allotted {
            let at = |block: u64| block - from.first() + to.first();
            view.allot(object, at(range.start)..at(range.end));
        }
        self.give_back(from)?;
        Ok(to)
    }
}

/// Class for a size above 0.
pub(crate) fn class_of(size_bytes: u64) -> Step<Class> {
    let limit_bytes = Class::X.blocks() * BLOCK_BYTES;
    Class::of_size(size_bytes).ok_or(Halt::Refused(FsError::FileTooLarge { limit_bytes }))
}
