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
//! first; every function then returns `None` and is called again. [`apply()`] computes the pages that
//! a batch of changes writes and frees, and changes nothing itself.

mod apply;
mod check;
pub(crate) mod page;
#[cfg(test)]
mod tests;

pub(crate) use apply::{ApplyError, Batch, Changes, apply, bulk_nodes, long_pages, written_nodes};
pub(crate) use check::{Checked, Expected, check_node};
pub(crate) use page::{Block, MAX_LEVEL, Node, PAGES, PageNumber, Value, block_of};

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
    /// Returns the first page from `from` on that the stream does not map. `Err` if the stream is
    /// full; `None` as for [`Source::node`].
    fn hole(&mut self, from: PageNumber) -> Option<Result<PageNumber, Full>>;
    /// Notes that the tree contradicts itself: the requested data can never become available.
    fn broken(&mut self, reason: String);
}

/// Error: the stream has no room for another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;
