//! Reads the mapped blocks of the object table, many at a time. Ids are never reused, so the table
//! is as long as the largest id requires, and mostly holes in an old pool.

use crate::catalog::{OBJECT_TABLE, stream};
use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::recovery::damaged;
use crate::core::scan::walk::{Item, TreeWalk, Visit};
use crate::geometry::blocks_for;
use crate::interface::PoolError;
use crate::interface::range::BlockNumber;
use crate::medium::blocking::{read_each, read_many};
use media::{BLOCK_BYTES, BlockAddress, Buffer, Media};

/// Largest number of blocks in one read.
const RUN_BLOCKS: usize = 64;

/// Block of the table: number, address and checksum.
type Stored = (BlockNumber, BlockAddress, Crc32c);

impl<M: Media> Core<M> {
    /// Loads the objects of the stored table.
    pub(super) fn load_table(&mut self) -> Result<(), PoolError> {
        let length = self.map.objects().length(OBJECT_TABLE);
        if length > stream::MAX_TABLE_BYTES {
            return Err(damaged(format!("the root gives the object table a length of {length} bytes")));
        }
        self.count_mapped(OBJECT_TABLE)?;
        let pointer = self.map.root_of(OBJECT_TABLE).unwrap_or_default();
        let root = Item { object: OBJECT_TABLE, first: BlockNumber::FIRST, pointer, expected_mapped: None };
        let mut walk = TreeWalk::new(if pointer.is_empty() { Vec::new() } else { vec![root] }, false);
        let mut spare = Vec::new();
        while let Some(visits) = walk.next(self) {
            let mut blocks: Vec<Stored> = Vec::new();
            for (item, visit) in visits {
                let page = match visit {
                    Visit::Page(page) => page,
                    Visit::Bad(reason) => return Err(damaged(reason)),
                    Visit::Outside => return Err(damaged("the object table lies outside the data area")),
                    Visit::Again(_) => return Err(damaged("a map page belongs to the object table twice")),
                };
                let entries = (item.first.onwards().zip(&page.entries))
                    .filter(|(_, entry)| page.level() == 0 && !entry.is_empty());
                blocks.extend(entries.map(|(block, entry)| (block, entry.address(), entry.crc())));
            }
            if blocks.iter().any(|(block, ..)| block.get() >= blocks_for(length)) {
                return Err(damaged("the object table is longer than the root says"));
            }
            self.load_table_blocks(&mut blocks, &mut spare)?;
        }
        Ok(())
    }

    /// Loads the objects in blocks of the table. Blocks adjacent on the medium are read together.
    fn load_table_blocks(&mut self, blocks: &mut [Stored], spare: &mut Vec<Buffer>) -> Result<(), PoolError> {
        blocks.sort_unstable_by_key(|(_, address, _)| *address);
        let runs: Vec<&[Stored]> =
            (blocks.chunk_by(|(_, a, _), (_, b, _)| *a + 1 == *b)).flat_map(|run| run.chunks(RUN_BLOCKS)).collect();
        let requests: Vec<_> = runs.iter().filter_map(|run| Some((run.first()?.1, run.len()))).collect();
        let map = &mut self.map;
        let (mut bad, mut suspects): (Vec<String>, Vec<Stored>) = (Vec::new(), Vec::new());
        read_each(self.medium.media_mut(), &requests, spare, |index, read| {
            for (at, stored) in runs.get(index).into_iter().flat_map(|run| run.iter().enumerate()) {
                match read.as_ref().ok().and_then(|buffer| verified(buffer, at, stored)) {
                    Some(content) => bad.extend(map.load_table_block(stored.0, content).err()),
                    None => suspects.push(*stored),
                }
            }
        });
        // Each of these blocks is read again by itself: the transfer or another block of the run may
        // have failed.
        suspects.sort_unstable_by_key(|(_, address, _)| *address);
        for stored in suspects {
            let (number, address, _) = stored;
            let again = read_many(self.medium.media_mut(), &[(address, 1)]).pop();
            let again = again.transpose().map_err(damaged)?.unwrap_or_default();
            let content = verified(&again, 0, &stored)
                .ok_or_else(|| damaged(format!("catalog block {address} fails its checksum")))?;
            bad.extend(self.map.load_table_block(number, content).err());
        }
        bad.into_iter().min().map_or(Ok(()), |reason| Err(damaged(reason)))
    }
}

/// Block `at` of the buffer if it has the checksum of the stored block.
fn verified<'a>(buffer: &'a Buffer, at: usize, (_, _, crc): &Stored) -> Option<&'a [u8; BLOCK_BYTES]> {
    buffer.as_blocks().get(at).map(|block| &block.0).filter(|block| Crc32c::of(&block[..]) == *crc)
}
