//! Directories, from the root and from the files without a name: nodes, entries, and what they lead to.

use super::{Check, Found, Problem};
use crate::engine::{Block, Engine};
use crate::layout::address::{Class, ORPHANS, ROOT, Region};
use crate::layout::inode::Inode;
use crate::layout::interior::Interior;
use crate::layout::leaf::{Entry, Leaf};
use crate::layout::nodes::{GROUP_NODES, HEADER, HEADER_NODES, Header, NODE_BYTES, Place, bit, group_of};
use crate::tree::{COLLISIONS, first_key};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::ops::Range;
use vfs::{FileId, FsError, Kind};

/// A directory that is being checked.
struct Walk {
    file: FileId,
    region: Region,
    /// Nodes in use, as found.
    nodes: BTreeSet<u32>,
    entries: u64,
    /// Names of the present hash value.
    run: (u64, FxHashSet<Vec<u8>>),
}

/// A node to visit: its number, level, and the keys that it may have.
type Visit = (u32, u8, Range<u64>);

impl<E: Engine> Check<'_, E> {
    /// Checks all directories that are reachable.
    pub(super) async fn directories(&mut self) -> Result<(), FsError> {
        let mut queue = vec![ROOT, ORPHANS];
        while let Some(file) = queue.pop() {
            let Found::Fine(inode) = self.look(|share| share.any_inode(file)).await? else { continue };
            self.directory(file, &inode, &mut queue).await?;
        }
        Ok(())
    }

    async fn directory(&mut self, file: FileId, inode: &Inode, queue: &mut Vec<FileId>) -> Result<(), FsError> {
        let Some(region) = inode.region else { return Ok(()) };
        let run = (0, FxHashSet::default());
        let mut walk = Walk { file, region, nodes: BTreeSet::from([0]), entries: 0, run };
        let Some(first) = self.node(file, region, 0).await? else { return Ok(()) };
        let header = if first[0] == HEADER {
            match Header::decode(&first, file) {
                Ok(header) => Some(header),
                Err(()) => {
                    self.report(file, Problem::Node { node: 0 });
                    return Ok(());
                }
            }
        } else {
            None
        };
        let start = header.as_ref().map_or((0, 0), |header| (header.root(), header.level()));
        let mut stack: Vec<Visit> = vec![(start.0, start.1, 0..u64::MAX)];
        while let Some(visit) = stack.pop() {
            self.visit(&mut walk, visit, &mut stack, queue).await?;
        }
        if walk.entries != inode.entries {
            self.report(file, Problem::Entries { stored: inode.entries, found: walk.entries });
        }
        self.nodes(&walk, header.as_ref()).await
    }

    /// Bytes of a node; a finding if there are none.
    async fn node(&mut self, file: FileId, region: Region, node: u32) -> Result<Option<Box<Block>>, FsError> {
        let inside = u64::from(node) < region.class.blocks();
        let block = region.first() + u64::from(node);
        if inside
            && let Found::Fine(bytes) =
                self.look(|share| share.block(block, file).map(|bytes| Box::new(*bytes))).await?
        {
            return Ok(Some(bytes));
        }
        self.report(file, Problem::Node { node });
        Ok(None)
    }

    async fn visit(
        &mut self,
        walk: &mut Walk,
        (node, level, keys): Visit,
        stack: &mut Vec<Visit>,
        queue: &mut Vec<FileId>,
    ) -> Result<(), FsError> {
        if node != 0 && !walk.nodes.insert(node) {
            self.report(walk.file, Problem::Node { node });
            return Ok(());
        }
        let Some(bytes) = self.node(walk.file, walk.region, node).await? else { return Ok(()) };
        let place = Place { directory: walk.file, node };
        if level == 0 {
            match Leaf::decode(&*bytes, place) {
                Ok(leaf) => self.leaf(walk, &leaf, node, keys, queue),
                Err(()) => self.report(walk.file, Problem::Node { node }),
            }
            return Ok(());
        }
        let Ok(interior) = Interior::decode(&*bytes, place, level) else {
            self.report(walk.file, Problem::Node { node });
            return Ok(());
        };
        let last = interior.count() - 1;
        if interior.key(0) != keys.start || (last > 0 && interior.key(last) >= keys.end) {
            self.report(walk.file, Problem::Node { node });
            return Ok(());
        }
        // The stack is left from its end: the smallest keys come first.
        for index in (0..=last).rev() {
            let end = if index < last { interior.key(index + 1) } else { keys.end };
            stack.push((interior.child(index), level - 1, interior.key(index)..end));
        }
        Ok(())
    }

    fn leaf(&mut self, walk: &mut Walk, leaf: &Leaf<&Block>, node: u32, keys: Range<u64>, queue: &mut Vec<FileId>) {
        if node != 0 && leaf.count() == 0 {
            self.report(walk.file, Problem::Node { node });
        }
        for entry in leaf.entries() {
            walk.entries += 1;
            if !keys.contains(&entry.key) {
                self.report(walk.file, Problem::Node { node });
            }
            self.entry(walk, &entry, queue);
        }
    }

    fn entry(&mut self, walk: &mut Walk, entry: &Entry<'_>, queue: &mut Vec<FileId>) {
        let name = || String::from_utf8_lossy(entry.name).into_owned();
        let first = first_key(&self.super_block.hash_key, entry.name);
        if !(first..first + COLLISIONS).contains(&entry.key) {
            self.report(walk.file, Problem::EntryKey { name: name() });
        }
        if walk.run.0 != first {
            walk.run = (first, FxHashSet::default());
        }
        if !walk.run.1.insert(entry.name.to_vec()) {
            self.report(walk.file, Problem::EntryTwice { name: name() });
        }
        let known = self.known.get_mut(&entry.file).filter(|known| known.kind == entry.kind);
        let may_have_name = known.is_some() && entry.file != ROOT && entry.file != ORPHANS;
        let Some(known) = known.filter(|_| may_have_name) else {
            self.report(walk.file, Problem::EntryOfNothing { name: name(), file: entry.file });
            return;
        };
        known.names = known.names.saturating_add(1);
        if walk.file == ORPHANS {
            // Such a name does not count as a link.
            known.links = known.links.saturating_add(1);
        }
        let (again, parent) = (known.names > 1, known.parent);
        if entry.kind == Kind::Directory {
            if let Some(above) = self.known.get_mut(&walk.file) {
                above.directories += 1;
            }
            if parent != walk.file {
                self.report(entry.file, Problem::Parent);
            }
            if !again {
                queue.push(entry.file);
            }
        }
    }

    /// Compares the nodes found with those that header and bitmaps say, and with those that are mapped.
    async fn nodes(&mut self, walk: &Walk, header: Option<&Header>) -> Result<(), FsError> {
        let Walk { file, region, nodes, .. } = walk;
        let (object, blocks) = (self.files.object(), region.blocks());
        let mapped = self.look(|share| share.look().mapped(object, blocks.clone()).map_err(|lack| lack.of(*file)));
        let Found::Fine(mapped) = mapped.await? else { return Ok(()) };
        let Some(header) = header else {
            if mapped > 1 {
                self.report(*file, Problem::Nodes);
            }
            return Ok(());
        };
        let marked_in_header = (0..HEADER_NODES).filter(|node| header.is_used(*node)).count();
        let own = nodes.range(..HEADER_NODES);
        let mut fine = marked_in_header == own.clone().count() && own.clone().all(|node| header.is_used(*node));
        let mut bitmaps = 0;
        let mut group = HEADER_NODES;
        while u64::from(group) < region.class.blocks() && region.class >= Class::M {
            let Some(bitmap) = self.node(*file, *region, group).await? else { break };
            if *bitmap != [0; NODE_BYTES] {
                bitmaps += 1;
                let marked = bitmap.iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
                let used = nodes.range(group..group + GROUP_NODES);
                let in_bitmap = |node: &u32| group_of(*node).is_some_and(|(_, at)| bit(&bitmap[..], at));
                fine &= marked == used.clone().count() + 1 && used.clone().all(in_bitmap);
            } else {
                fine &= nodes.range(group..group + GROUP_NODES).next().is_none();
            }
            group += GROUP_NODES;
        }
        let counted = nodes.len() as u64 - 1;
        if !fine || u64::from(header.nodes()) != counted || mapped != counted + 1 + bitmaps {
            self.report(*file, Problem::Nodes);
        }
        Ok(())
    }
}
