//! Ordered index of keys and values in one of the pool's own streams: a B+tree whose pages are
//! blocks of the stream.
//!
//! The number of a page is that of its block within the stream, and the stream's map gives the
//! address of that block. The map provides everything that a copy-on-write tree needs: a changed
//! page goes to a new address, and the old one stays until no checkpoint names it; each page has a
//! checksum in the map; a check, a scrub or a repair counts its references as those of any other
//! block. A changed page leaves its parent unchanged, since the parent names it by number. A free
//! page is an unmapped block of the stream, so there is no list of free pages.
//!
//! This module does no I/O. Pages come from a [`Source`], which notes those that have to be read
//! first; every function then returns `None` and is called again. [`apply`] computes the pages that
//! a batch of changes writes and frees, and changes nothing itself.

mod apply;
mod check;
pub(crate) mod page;
#[cfg(test)]
mod tests;

pub(crate) use apply::{ApplyError, Batch, Changes, apply, pages_of_change};
pub(crate) use check::{Checked, Expected, check_node};
pub(crate) use page::{Block, Node, PAGES, PageNumber, Value};

use bytes::Bytes;
use page::{Entry, Target};
use std::rc::Rc;

/// Start of a tree, and its number of entries. Stored in the pool's root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexRoot {
    /// Page of the top node; 0: the tree is empty.
    pub page: PageNumber,
    /// Level of the top node.
    pub level: u8,
    /// Number of entries in the tree.
    pub entries: u64,
}

/// Source of the pages of a tree.
pub(crate) trait Source {
    /// Returns a node; `None` if it is not available now, because it has to be read or is damaged.
    /// The source notes which.
    fn node(&mut self, number: PageNumber, level: u8) -> Option<Rc<Node>>;
    /// Content of a page of a long value, as for [`Source::node`].
    fn long_value(&mut self, number: PageNumber, position: u32) -> Option<Bytes>;
    /// The first page from `from` on that the stream does not map. `Err` when the stream is full; `None` as for [`Source::node`].
    fn hole(&mut self, from: PageNumber) -> Option<Result<PageNumber, Full>>;
    /// Notes that the tree contradicts itself: the requested data can never become available.
    fn broken(&mut self, reason: String);
}

/// Error: the stream has no room for another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The value of a key. The outer `None`: a page has to be read first.
pub(crate) fn find(source: &mut impl Source, root: IndexRoot, key: &[u8]) -> Option<Option<Value>> {
    if root.page == 0 {
        return Some(None);
    }
    let (mut number, mut level) = (root.page, root.level);
    loop {
        let node = source.node(number, level)?;
        if level == 0 {
            return Some(node.value(key).cloned());
        }
        number = node.child(node.position_of(key))?;
        level -= 1;
    }
}

/// The bytes of a value.
pub(crate) fn bytes_of(source: &mut impl Source, value: &Value) -> Option<Bytes> {
    match value {
        Value::Inline(value) => Some(value.clone()),
        Value::Long { length, pages } => {
            let mut out = Vec::with_capacity(*length as usize);
            let mut complete = true;
            for (position, number) in pages.iter().enumerate() {
                match source.long_value(*number, position as u32) {
                    Some(content) => out.extend_from_slice(&content),
                    None => complete = false,
                }
            }
            if complete && out.len() != *length as usize {
                source.broken(format!("index: a value of {length} bytes has {} in its pages", out.len()));
                return None;
            }
            complete.then(|| out.into())
        }
    }
}

/// Entries in the order of their keys, a leaf at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    /// Entries of one leaf.
    pub entries: Vec<(Bytes, Value)>,
    /// Where the next leaf begins; `None` after the last one.
    pub next: Option<Bytes>,
}

/// The entries of the leaf that covers `from`, from that key on. The key to continue with may not exist any more by then, which does no harm.
pub(crate) fn range(source: &mut impl Source, root: IndexRoot, from: &[u8]) -> Option<Range> {
    if root.page == 0 {
        return Some(Range::default());
    }
    let (mut number, mut level) = (root.page, root.level);
    let mut next: Option<Bytes> = None;
    loop {
        let node = source.node(number, level)?;
        if level == 0 {
            let first = node.entries.partition_point(|entry| entry.key.as_ref() < from);
            let entries = node.entries.iter().skip(first).filter_map(|entry| match &entry.target {
                Target::Value(value) => Some((entry.key.clone(), value.clone())),
                Target::Child(_) => None,
            });
            return Some(Range { entries: entries.collect(), next });
        }
        let at = node.position_of(from);
        if let Some(Entry { key, .. }) = node.entries.get(at + 1) {
            next = Some(key.clone());
        }
        number = node.child(at)?;
        level -= 1;
    }
}
