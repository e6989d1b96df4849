//! Removal of entries. A node that is less than a quarter full is merged with a neighbour if both fit into one. An
//! interior node with one child that cannot be merged gets children of its neighbour: so each leaf but the only one has
//! a neighbour, with which it is merged before it is empty.

use super::Tree;
use super::insert::Visited;
use crate::halt::Step;
use crate::layout::interior::FAN_OUT;
use crate::layout::leaf::CAPACITY;
use crate::layout::nodes::NODE_BYTES;

impl Tree<'_, '_> {
    /// Removes the entry with a key.
    pub(crate) fn remove(&mut self, key: u64) -> Step<()> {
        let path = self.path(key)?;
        let mut leaf = self.own_leaf(path.leaf)?;
        let index = leaf.position(key);
        if leaf.entry(index).is_none_or(|entry| entry.key != key) {
            return Err(self.damage().into());
        }
        leaf.remove(index);
        if leaf.count() == 0 && path.interiors.is_empty() {
            return self.store(path.leaf, &[0; NODE_BYTES]);
        }
        self.store(path.leaf, leaf.bytes())?;
        let mut small = leaf.used() < CAPACITY / 4;
        for visited in path.interiors.iter().rev() {
            if !small || !self.merge(visited)? {
                break;
            }
            small = self.interior(visited.node, visited.level)?.count() < FAN_OUT / 4;
        }
        self.lower()?;
        self.store_header()
    }

    /// Merges the child that a path took with a neighbour. Returns whether it did.
    fn merge(&mut self, parent: &Visited) -> Step<bool> {
        let mut interior = self.own_interior(parent.node, parent.level)?;
        for left in [parent.index, parent.index.wrapping_sub(1)] {
            let right = left.wrapping_add(1);
            if left >= interior.count() || right >= interior.count() {
                continue;
            }
            let (left_node, right_node) = (interior.child(left), interior.child(right));
            if self.merge_nodes(left_node, right_node, parent.level - 1)? {
                self.free(right_node)?;
                interior.remove(right);
                self.store(parent.node, interior.bytes())?;
                return Ok(true);
            }
            if parent.level > 1 && self.even_out(left_node, right_node, parent.level - 1)? {
                let key = self.interior(right_node, parent.level - 1)?.key(0);
                interior.set_key(right, key);
                self.store(parent.node, interior.bytes())?;
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Divides the children of two interior nodes evenly, if one of them has one child only. Returns whether it did.
    fn even_out(&mut self, left: u32, right: u32, level: u8) -> Step<bool> {
        let (one, other) = (self.own_interior(left, level)?, self.own_interior(right, level)?);
        if one.count() > 1 && other.count() > 1 {
            return Ok(false);
        }
        let (one, other) = one.even_out(&other, self.place(left), self.place(right));
        self.store(left, one.bytes())?;
        self.store(right, other.bytes())?;
        Ok(true)
    }

    /// Moves everything from the right node to the left one, if it fits.
    fn merge_nodes(&mut self, left: u32, right: u32, level: u8) -> Step<bool> {
        let place = self.place(left);
        let merged = if level == 0 {
            let (one, other) = (self.own_leaf(left)?, self.own_leaf(right)?);
            one.merge(&other, place).map(|merged| *merged.bytes())
        } else {
            let (one, other) = (self.own_interior(left, level)?, self.own_interior(right, level)?);
            one.merge(&other, place).map(|merged| *merged.bytes())
        };
        match merged {
            Some(bytes) => self.store(left, &bytes).map(|()| true),
            None => Ok(false),
        }
    }

    /// Takes a level away while the root has one child. The last leaf becomes node 0.
    fn lower(&mut self) -> Step<()> {
        loop {
            let (root, level) = self.root()?;
            if level == 0 {
                return Ok(());
            }
            let interior = self.interior(root, level)?;
            if interior.count() > 1 {
                return Ok(());
            }
            let child = interior.child(0);
            self.free(root)?;
            if level > 1 {
                if let Some(header) = self.header()? {
                    header.set_root(child, level - 1);
                }
                continue;
            }
            let leaf = self.own_leaf(child)?.at(self.place(0));
            self.free(child)?;
            self.set_header(None);
            return self.store(0, leaf.bytes());
        }
    }
}
