//! Size of a file, and the region that follows from it.

use crate::engine::BLOCK_BYTES;
use crate::halt::Step;
use crate::layout::address::Region;
use crate::layout::inode::Inode;
use crate::regions::class_of;
use crate::share::Share;
use vfs::FileId;

impl Share<'_> {
    /// Region of a file that reaches a size above 0; its present content is there. If that moves it, neither
    /// region may be looked at after that.
    pub(crate) fn reach(&mut self, file: FileId, inode: &mut Inode, size_bytes: u64) -> Step<Region> {
        let class = class_of(size_bytes)?;
        let region = match inode.region {
            None => self.new_region(class, file)?,
            Some(region) if region.class >= class => region,
            Some(region) => self.move_region(region, class, file)?,
        };
        inode.region = Some(region);
        Ok(region)
    }

    /// Sets the size. What lies behind it becomes zero, and is no longer allocated.
    pub(crate) fn resize(&mut self, file: FileId, inode: &mut Inode, size_bytes: u64) -> Step<()> {
        let old = inode.size_bytes;
        inode.size_bytes = size_bytes;
        match inode.region {
            Some(region) if size_bytes == 0 => {
                inode.region = None;
                self.free_region(region)
            }
            Some(region) if size_bytes < old => {
                let object = self.object();
                let end = old.next_multiple_of(BLOCK_BYTES);
                self.name().zero(object, region.bytes(size_bytes..end));
                let kept = size_bytes.div_ceil(BLOCK_BYTES);
                self.name().release(object, region.first() + kept..region.blocks().end);
                Ok(())
            }
            _ if size_bytes > 0 => self.reach(file, inode, size_bytes).map(|_| ()),
            _ => Ok(()),
        }
    }
}
