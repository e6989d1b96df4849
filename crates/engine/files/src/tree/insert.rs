//! New entries, and other files for existing ones.

use super::{Found, Tree};
use crate::engine::Block;
use crate::halt::Step;
use crate::layout::address::Class;
use crate::layout::interior::Interior;
use crate::layout::leaf::{CAPACITY, Entry, LONGEST, Leaf};
use crate::layout::nodes::{GROUP_NODES, HEADER_NODES, Header};
use crate::regions::class_of;
use vfs::{FileId, FsError, Kind, SpaceReason};

impl Tree<'_, '_> {
    /// Adds an entry with a key that is free. The nodes may not be looked at after that: the region may have
    /// moved.
    pub(crate) fn insert(&mut self, entry: &Entry<'_>) -> Step<()> {
        if self.region.is_none() {
            self.region = Some(self.share.new_region(class_of(1)?, self.directory)?);
        }
        let path = self.path(entry.key)?;
        let (node, place) = (path.leaf, self.place(path.leaf));
        let mut leaf = self.own_leaf(node)?;
        match leaf.insert(place, entry) {
            Some(written) => self.store_written(node, leaf.bytes(), written)?,
            None => self.split(&path, &leaf, entry)?,
        }
        self.store_header()?;
        self.grow(&leaf)
    }

    /// Nodes from the root to the leaf of a key.
    pub(super) fn path(&mut self, key: u64) -> Step<Path> {
        let (mut node, level) = self.root()?;
        let mut interiors = Vec::new();
        for level in (1..=level).rev() {
            let interior = self.interior(node, level)?;
            let index = interior.position(key);
            let child = interior.child(index);
            interiors.push(Visited { node, level, index });
            node = child;
        }
        Ok(Path { interiors, leaf: node })
    }

    /// Splits a full leaf and adds the entry to one half.
    fn split(&mut self, path: &Path, leaf: &Leaf<Block>, entry: &Entry<'_>) -> Step<()> {
        let single = path.interiors.is_empty();
        if single {
            self.set_header(Some(Header::new(self.directory)));
        }
        let left_node = if single { self.allocate()? } else { path.leaf };
        let right_node = self.allocate()?;
        let (left_place, right_place) = (self.place(left_node), self.place(right_node));
        let (mut left, mut right) = leaf.split(left_place, right_place);
        let separator = right.entry(0).map(|entry| entry.key).ok_or(self.damage())?;
        let inserted =
            if entry.key < separator { left.insert(left_place, entry) } else { right.insert(right_place, entry) };
        debug_assert!(inserted.is_some(), "each half takes any entry");
        self.store(left_node, left.bytes())?;
        self.store(right_node, right.bytes())?;
        if single {
            return self.new_root((left_node, separator, right_node), 1);
        }
        self.add_child(path, separator, right_node)
    }

    fn new_root(&mut self, (left, separator, right): (u32, u64, u32), level: u8) -> Step<()> {
        let node = self.allocate()?;
        let root = Interior::new(self.place(node), level, [(0, left), (separator, right)]);
        self.store(node, root.bytes())?;
        if let Some(header) = self.header()? {
            header.set_root(node, level);
        }
        Ok(())
    }

    /// Adds a child to the lowest interior node of a path, and splits upwards where there is no room.
    fn add_child(&mut self, path: &Path, separator: u64, child: u32) -> Step<()> {
        let (mut separator, mut child) = (separator, child);
        for visited in path.interiors.iter().rev() {
            let mut interior = self.own_interior(visited.node, visited.level)?;
            if interior.insert(separator, child) {
                return self.store(visited.node, interior.bytes());
            }
            let right_node = self.allocate()?;
            let (mut left, mut right) = interior.split(self.place(visited.node), self.place(right_node));
            let middle = right.key(0);
            if separator < middle {
                left.insert(separator, child)
            } else {
                right.insert(separator, child)
            };
            self.store(visited.node, left.bytes())?;
            self.store(right_node, right.bytes())?;
            (separator, child) = (middle, right_node);
        }
        let (root, level) = self.root()?;
        self.new_root((root, separator, child), level + 1)
    }

    /// Moves the nodes to a larger region while the present one has too little left for the next entry.
    fn grow(&mut self, leaf: &Leaf<Block>) -> Step<()> {
        let Some(region) = self.region else { return Ok(()) };
        let (_, level) = self.root()?;
        let tight = if region.class == Class::T {
            leaf.used() + LONGEST > CAPACITY
        } else {
            let in_use = self.head()?.map_or(0, |head| u64::from(head.nodes));
            let bitmaps =
                1 + region.class.blocks().saturating_sub(u64::from(HEADER_NODES)).div_ceil(GROUP_NODES.into());
            // A split of every level, and a new root.
            in_use + bitmaps + u64::from(level) + 3 > region.class.blocks()
        };
        if !tight {
            return Ok(());
        }
        let class = region.class.next().ok_or(FsError::NoSpace(SpaceReason::Regions))?;
        self.region = Some(self.share.move_region(region, class, self.directory)?);
        Ok(())
    }

    /// Gives an entry another file.
    pub(crate) fn set(&mut self, found: &Found, file: FileId, kind: Kind) -> Step<()> {
        let node = self.path(found.key)?.leaf;
        let mut leaf = self.own_leaf(node)?;
        let index = leaf.position(found.key);
        leaf.set(index, file, kind);
        self.store(node, leaf.bytes())
    }
}

/// Interior node on a path, and the child that was taken.
pub(super) struct Visited {
    pub(super) node: u32,
    pub(super) level: u8,
    pub(super) index: usize,
}

/// Nodes from the root to a leaf.
pub(super) struct Path {
    pub(super) interiors: Vec<Visited>,
    pub(super) leaf: u32,
}
