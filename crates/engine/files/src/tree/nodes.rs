//! Nodes of a tree: reading, storing, allocation.

use super::Tree;
use crate::engine::Block;
use crate::halt::Step;
use crate::layout::interior::Interior;
use crate::layout::leaf::{Leaf, Written};
use crate::layout::nodes::{
    GROUP_NODES, HEADER_NODES, Head, Header, LEAF, NODE_BYTES, Place, group_of, set_bit, zero_bit,
};
use vfs::{FsError, SpaceReason};

impl Tree<'_, '_> {
    pub(super) const fn place(&self, node: u32) -> Place {
        Place { directory: self.directory, node }
    }

    /// Block of a node.
    fn at(&self, node: u32) -> Step<u64> {
        match self.region {
            Some(region) if u64::from(node) < region.class.blocks() => Ok(region.first() + u64::from(node)),
            _ => Err(self.damage().into()),
        }
    }

    pub(super) fn bytes(&mut self, node: u32) -> Step<&Block> {
        let (block, directory) = (self.at(node)?, self.directory);
        self.share.block(block, directory)
    }

    pub(super) fn store(&mut self, node: u32, bytes: &Block) -> Step<()> {
        let (block, directory) = (self.at(node)?, self.directory);
        self.share.store(block, bytes, directory)
    }

    /// Stores the parts of a node that were written.
    pub(super) fn store_written(&mut self, node: u32, bytes: &Block, written: Written) -> Step<()> {
        let (block, directory) = (self.at(node)?, self.directory);
        self.share.store_ranges(block, bytes, written, directory)
    }

    /// What the header says; `None` if the tree is one leaf, or none.
    pub(super) fn head(&mut self) -> Step<Option<Head>> {
        if let Some(header) = &self.header {
            return Ok(Some(header.head()));
        }
        if let Some(known) = self.head {
            return Ok(known);
        }
        let head = self.read_head()?;
        self.head = Some(head);
        Ok(head)
    }

    fn read_head(&mut self) -> Step<Option<Head>> {
        if self.region.is_none() {
            return Ok(None);
        }
        let (directory, damage) = (self.directory, self.damage());
        let bytes = self.bytes(0)?;
        if bytes[0] == LEAF || bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        Ok(Some(Head::decode(bytes, directory).map_err(|()| damage)?))
    }

    /// Header of the tree, to be changed; `None` if it is one leaf, or none.
    pub(super) fn header(&mut self) -> Step<Option<&mut Header>> {
        if self.header.is_none() && self.head()?.is_some() {
            let (directory, damage) = (self.directory, self.damage());
            let header = Header::decode(self.bytes(0)?, directory).map_err(|()| damage)?;
            self.header = Some(header);
        }
        Ok(self.header.as_mut())
    }

    /// Root and its level.
    pub(super) fn root(&mut self) -> Step<(u32, u8)> {
        Ok(self.head()?.map_or((0, 0), |head| (head.root, head.level)))
    }

    pub(super) fn set_header(&mut self, header: Option<Header>) {
        (self.head, self.header) = (Some(None), header);
    }

    /// Stores the header, if it may have changed.
    pub(super) fn store_header(&mut self) -> Step<()> {
        match self.header.take() {
            Some(header) => {
                self.head = Some(Some(header.head()));
                self.store(0, header.bytes())
            }
            None => Ok(()),
        }
    }

    pub(super) fn leaf(&mut self, node: u32) -> Step<Leaf<&Block>> {
        let (place, damage) = (self.place(node), self.damage());
        Ok(Leaf::open(self.bytes(node)?, place).map_err(|()| damage)?)
    }

    /// A leaf to change. It is verified whole: a change may store all its entries again.
    pub(super) fn own_leaf(&mut self, node: u32) -> Step<Leaf<Block>> {
        let (place, damage) = (self.place(node), self.damage());
        Ok(Leaf::decode(*self.bytes(node)?, place).map_err(|()| damage)?)
    }

    pub(super) fn interior(&mut self, node: u32, level: u8) -> Step<Interior<&Block>> {
        let (place, damage) = (self.place(node), self.damage());
        Ok(Interior::open(self.bytes(node)?, place, level).map_err(|()| damage)?)
    }

    /// An interior node to change, verified whole.
    pub(super) fn own_interior(&mut self, node: u32, level: u8) -> Step<Interior<Block>> {
        let (place, damage) = (self.place(node), self.damage());
        Ok(Interior::decode(*self.bytes(node)?, place, level).map_err(|()| damage)?)
    }

    /// Nodes of the region.
    fn nodes(&self) -> u64 {
        self.region.map_or(0, |region| region.class.blocks())
    }

    /// Takes a free node. The tree has a header.
    pub(super) fn allocate(&mut self) -> Step<u32> {
        let nodes = self.nodes();
        let hint = self.header()?.map_or(0, |header| header.hint());
        let in_header = self.header()?.and_then(|header| header.free(hint));
        let found = match in_header {
            Some(node) => Some(node),
            None => self.free_in_groups(hint)?,
        };
        let node = found.filter(|node| u64::from(*node) < nodes).ok_or(FsError::NoSpace(SpaceReason::Regions))?;
        self.mark(node, true)?;
        if let Some(header) = self.header()? {
            header.set_hint(node + 1);
            header.set_nodes(header.nodes() + 1);
        }
        Ok(node)
    }

    /// First free node that has its bit in a bitmap node.
    fn free_in_groups(&mut self, hint: u32) -> Step<Option<u32>> {
        let (mut group, _) = group_of(hint.max(HEADER_NODES)).unwrap_or((HEADER_NODES, 0));
        while u64::from(group) < self.nodes() {
            // The first bit is that of the bitmap node itself.
            let from = hint.saturating_sub(group).max(1);
            if let Some(bit) = zero_bit(self.bytes(group)?, from) {
                return Ok(Some(group + bit));
            }
            group += GROUP_NODES;
        }
        Ok(None)
    }

    fn mark(&mut self, node: u32, used: bool) -> Step<()> {
        let Some((group, bit)) = group_of(node) else {
            if let Some(header) = self.header()? {
                header.set(node, used);
            }
            return Ok(());
        };
        let mut bitmap = *self.bytes(group)?;
        set_bit(&mut bitmap, 0, true);
        set_bit(&mut bitmap, bit, used);
        if zero_bit(&bitmap, 0) == Some(1) && bitmap.iter().map(|byte| byte.count_ones()).sum::<u32>() == 1 {
            // Only its own bit is left.
            bitmap = [0; NODE_BYTES];
        }
        self.store(group, &bitmap)
    }

    /// Frees a node.
    pub(super) fn free(&mut self, node: u32) -> Step<()> {
        self.mark(node, false)?;
        if let Some(header) = self.header()? {
            header.set_hint(header.hint().min(node));
            header.set_nodes(header.nodes().saturating_sub(1));
        }
        self.store(node, &[0; NODE_BYTES])
    }
}
