//! Look-up of a name, and entries in the order of their keys.

use super::{COLLISIONS, Tree, first_key};
use crate::halt::Step;
use crate::layout::leaf::Entry;
use vfs::{FileId, Kind};

/// Entry that a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub key: u64,
    pub file: FileId,
    pub kind: Kind,
}

impl Tree<'_, '_> {
    /// Leaf in which a key belongs, and the first key of the next leaf if there is one.
    fn leaf_of(&mut self, key: u64) -> Step<(u32, Option<u64>)> {
        let (mut node, level) = self.root()?;
        let mut bound = None;
        for level in (1..=level).rev() {
            let interior = self.interior(node, level)?;
            let index = interior.position(key);
            if index + 1 < interior.count() {
                bound = Some(interior.key(index + 1));
            }
            node = interior.child(index);
        }
        Ok((node, bound))
    }

    /// Shows the entries with keys of at least `from` in order, until `visit` returns false or none is left.
    /// Returns whether none is left.
    pub(crate) fn scan(&mut self, from: u64, mut visit: impl FnMut(Entry<'_>) -> bool) -> Step<bool> {
        if self.region.is_none() {
            return Ok(true);
        }
        let mut from = from;
        loop {
            let (node, bound) = self.leaf_of(from)?;
            let damage = self.damage();
            let leaf = self.leaf(node)?;
            let mut least = from;
            for index in leaf.position(from)..leaf.count() {
                // Also keys out of order are damage.
                let entry = leaf.entry(index).filter(|entry| entry.key >= least).ok_or_else(|| damage.clone())?;
                least = entry.key.saturating_add(1);
                if !visit(entry) {
                    return Ok(false);
                }
            }
            match bound {
                None => return Ok(true),
                Some(bound) if bound > from => from = bound,
                Some(_) => return Err(self.damage().into()),
            }
        }
    }

    /// Entry of a name, and the smallest free key for it if it has none.
    pub(crate) fn find(&mut self, name: &[u8]) -> Step<(Option<Found>, Option<u64>)> {
        let first = first_key(&self.share.super_block()?.hash_key, name);
        let (mut found, mut free) = (None, first);
        self.scan(first, |entry| {
            if entry.key >= first + COLLISIONS {
                return false;
            }
            if entry.key == free {
                free += 1;
            }
            if entry.name == name {
                found = Some(Found { key: entry.key, file: entry.file, kind: entry.kind });
            }
            found.is_none()
        })?;
        Ok((found, (free < first + COLLISIONS).then_some(free)))
    }
}
