//! Regions: each belongs to one file, the bitmaps say so, and nothing is mapped outside of them.

use super::{Check, Found, Problem};
use crate::engine::Engine;
use crate::layout::address::{BITS_PER_BLOCK, BLOCKS, Class, ROOT, Region, SUPER_BLOCK, inode_table};
use crate::layout::nodes::bit;
use std::ops::Range;
use vfs::{FileId, FsError};

impl<E: Engine> Check<'_, E> {
    pub(super) async fn space(&mut self) -> Result<(), FsError> {
        self.regions.sort_unstable();
        let mut regions: Vec<(Region, FileId)> = std::mem::take(&mut self.regions);
        for pair in regions.windows(2) {
            if let [(one, other), (next, file)] = pair
                && one == next
            {
                self.report(*file, Problem::RegionShared { other: *other });
            }
        }
        regions.dedup_by_key(|(region, _)| *region);
        for class in Class::ALLOCATED {
            let used: Vec<(u64, FileId)> = regions
                .iter()
                .filter(|(region, _)| region.class == class)
                .map(|(region, file)| (region.number, *file))
                .collect();
            self.bitmap(class, &used).await?;
        }
        self.strays(&regions).await
    }

    /// Compares the bitmap of a class with the regions in use.
    async fn bitmap(&mut self, class: Class, used: &[(u64, FileId)]) -> Result<(), FsError> {
        let mut marked = Vec::new();
        let mut blocks = class.bitmap();
        while let Some(block) = self.next_mapped(blocks.clone()).await? {
            blocks.start = block + 1;
            let first = (block - class.bitmap().start) * BITS_PER_BLOCK;
            match self.look(|share| share.block(block, ROOT).copied()).await? {
                Found::Fine(bitmap) => {
                    let bits = (0..BITS_PER_BLOCK).filter(|at| bit(&bitmap, *at as u32));
                    marked.extend(bits.map(|at| first + at));
                }
                Found::Damage => self.report(ROOT, Problem::Unreadable { what: "a bitmap of regions" }),
            }
        }
        for (number, file) in used {
            if marked.binary_search(number).is_err() {
                self.report(*file, Problem::RegionUnmarked);
            }
        }
        for number in marked {
            if used.binary_search_by_key(&number, |(number, _)| *number).is_err() {
                self.report(ROOT, Problem::RegionLeaked { class: class as u8, number });
            }
        }
        Ok(())
    }

    async fn next_mapped(&mut self, blocks: Range<u64>) -> Result<Option<u64>, FsError> {
        let object = self.files.object();
        let look = self.look(|share| share.look().next_mapped(object, blocks.clone()).map_err(|lack| lack.of(ROOT)));
        Ok(match look.await? {
            Found::Fine(block) if block < blocks.end => Some(block),
            _ => None,
        })
    }

    /// Looks for blocks that belong to nothing, between what is in use.
    async fn strays(&mut self, regions: &[(Region, FileId)]) -> Result<(), FsError> {
        let meta = std::iter::once(SUPER_BLOCK..SUPER_BLOCK + 1).chain(Class::ALLOCATED.map(Class::bitmap));
        let used = meta.chain([inode_table()]).chain(regions.iter().map(|(region, _)| region.blocks()));
        let mut start = 0;
        for used in used.chain(std::iter::once(BLOCKS..BLOCKS)) {
            if start < used.start
                && let Some(block) = self.next_mapped(start..used.start).await?
            {
                self.report(ROOT, Problem::Stray { block });
            }
            start = used.end;
        }
        Ok(())
    }
}
