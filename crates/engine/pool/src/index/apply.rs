//! Application of many changes to a tree at once: computes the pages that they write and free.
//!
//! A node that exceeds its page is split. A node with less than a quarter of a page joins its
//! neighbour if both fit in three quarters of a page. A page keeps its number when its content
//! changes, so only splits and joins change its parent.

use super::page::{CAPACITY, Entry, Node, Target, Value, encode_value, fits_inline, pages_of_value};
use super::{Block, Full, IndexRoot, PageNumber, Source};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

/// Bytes below which a node joins a neighbour.
const SPARSE: usize = CAPACITY / 4;
/// Largest number of bytes in a joined node.
const JOINED: usize = CAPACITY * 3 / 4;

/// Values to store (`Some`) and keys to remove (`None`).
pub(crate) type Changes = BTreeMap<Bytes, Option<Bytes>>;

/// Effect of a batch of changes on the pages of a stream.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Tree after the changes.
    pub root: IndexRoot,
    /// Pages to write, by number.
    pub writes: BTreeMap<PageNumber, Box<Block>>,
    /// Those of the written pages that are nodes.
    pub nodes: BTreeMap<PageNumber, Rc<Node>>,
    /// Pages that become free.
    pub freed: BTreeSet<PageNumber>,
    /// Lower bound of the free pages, apart from `freed`.
    pub first_hole: PageNumber,
}

/// Largest number of nodes that one change writes in a tree whose top node is at `level`: on each
/// level a node split in three, and a new top node. Several changes write at most the sum.
pub(crate) const fn written_nodes(level: u8) -> u64 {
    3 * (level as u64 + 1) + 1
}

/// Largest number of nodes of a tree that is written at once, for this many bytes of entries in its
/// leaves.
pub(crate) const fn bulk_nodes(entry_bytes: u64) -> u64 {
    // A split makes two neighbours larger than one page; an entry of an interior node is at most an
    // eighth of a page.
    let leaves = 2 * entry_bytes / CAPACITY as u64 + 1;
    leaves + leaves / 2 + 1
}

/// Number of pages of a value that is stored outside its leaf; 0 for an inline value.
pub(crate) fn long_pages(key: &[u8], value_bytes: usize) -> u64 {
    if fits_inline(key, value_bytes) { 0 } else { pages_of_value(value_bytes) as u64 }
}

/// Computes the pages that `changes` write and free. `None`: data has to be read first. The error
/// means that the stream is full or the tree contradicts itself. `first_hole` is a lower bound of
/// the free pages.
pub(crate) fn apply(
    source: &mut impl Source,
    root: IndexRoot,
    changes: &Changes,
    first_hole: PageNumber,
) -> Option<Result<Batch, ApplyError>> {
    let mut work = Work {
        source,
        changes,
        batch: Batch { root, first_hole, ..Batch::default() },
        missing: false,
        failed: None,
        delta: 0,
    };
    work.run();
    if let Some(error) = work.failed {
        return Some(Err(error));
    }
    (!work.missing).then_some(Ok(work.batch))
}

/// Reason why changes cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApplyError {
    /// The stream has no room.
    Full,
    /// The tree contradicts itself.
    Broken,
}

impl From<Full> for ApplyError {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// Child of a node whose entries are being rebuilt.
struct Piece {
    /// First key; empty for the very first piece.
    from: Bytes,
    /// Page that it is in, or was in.
    number: Option<PageNumber>,
    /// Content, if changed.
    node: Option<Node>,
}

struct Work<'a, S> {
    source: &'a mut S,
    changes: &'a Changes,
    batch: Batch,
    missing: bool,
    failed: Option<ApplyError>,
    /// Number of entries added, minus those removed.
    delta: i64,
}

type KeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

impl<S: Source> Work<'_, S> {
    fn run(&mut self) {
        let root = self.batch.root;
        let everything = (Bound::Unbounded, Bound::Unbounded);
        let (number, node) = match root.page {
            0 => (None, Some(self.changed_leaf(Node::default(), everything))),
            page => match self.changed(page, root.level, everything) {
                Some(None) if !self.missing => return self.keep_top(),
                changed => (Some(page), changed.flatten()),
            },
        };
        let Some(node) = node else { return };
        let mut level = node.level;
        let mut pieces = split(Piece { from: Bytes::new(), number, node: Some(node) });
        while pieces.len() > 1 {
            level += 1;
            let entries = self.settle(pieces);
            pieces = split(Piece { from: Bytes::new(), number: None, node: Some(Node { level, entries }) });
        }
        let Some(Piece { number, node: Some(node), .. }) = pieces.pop() else { return };
        self.batch.root = self.top(number, node, root.entries.checked_add_signed(self.delta));
    }

    /// Keeps the top node.
    fn keep_top(&mut self) {
        match self.batch.root.entries.checked_add_signed(self.delta) {
            Some(entries) => self.batch.root.entries = entries,
            None => self.failed = Some(ApplyError::Broken),
        }
    }

    /// Stores the top node. Skips one with a single child; a node without entries leaves an empty
    /// tree.
    fn top(&mut self, number: Option<PageNumber>, node: Node, entries: Option<u64>) -> IndexRoot {
        let Some(entries) = entries else {
            self.failed = Some(ApplyError::Broken);
            return IndexRoot::default();
        };
        let (mut level, mut page) = (node.level, None);
        let only = |node: &Node| (node.entries.len() == 1 && node.level > 0).then(|| node.child(0)).flatten();
        let mut next = only(&node);
        if node.entries.is_empty() {
            number.into_iter().for_each(|number| self.free(number));
            return IndexRoot { page: 0, level: 0, entries };
        }
        if next.is_some() {
            number.into_iter().for_each(|number| self.free(number));
        }
        while let Some(child) = next {
            level -= 1;
            let Some(below) = self.node(child, level) else { return IndexRoot::default() };
            page = Some(child);
            next = only(&below);
            if next.is_some() {
                self.free(child);
            }
        }
        let page = page.or_else(|| self.store(number, node));
        IndexRoot { page: page.unwrap_or(0), level, entries }
    }

    /// Returns the present state of a node: as this batch wrote it, or as stored.
    fn node(&mut self, number: PageNumber, level: u8) -> Option<Rc<Node>> {
        if let Some(node) = self.batch.nodes.get(&number) {
            return Some(node.clone());
        }
        let node = self.source.node(number, level);
        self.missing |= node.is_none();
        node
    }

    /// Returns the node with the changes to the keys of `range` applied, or `Some(None)` if only
    /// pages below it change. `None`: data is missing.
    fn changed(&mut self, number: PageNumber, level: u8, range: KeyRange<'_>) -> Option<Option<Node>> {
        let node = self.node(number, level)?;
        if level == 0 {
            return Some(Some(self.changed_leaf((*node).clone(), range)));
        }
        let mut pieces: Vec<Piece> = Vec::with_capacity(node.entries.len() + 2);
        for (at, entry) in node.entries.iter().enumerate() {
            let Target::Child(child) = entry.target else { return self.broken() };
            let from = if at == 0 { range.0 } else { Bound::Included(entry.key.as_ref()) };
            let to = node.entries.get(at + 1).map_or(range.1, |next| Bound::Excluded(next.key.as_ref()));
            let whole = Piece { from: entry.key.clone(), number: Some(child), node: None };
            if !ascends(from, to) {
                return self.broken();
            }
            if self.changes.range::<[u8], _>((from, to)).next().is_none() {
                pieces.push(whole);
                continue;
            }
            if let Some(node) = self.changed(child, level - 1, (from, to)) {
                pieces.extend(split(Piece { node, ..whole }));
            }
        }
        if self.missing {
            return None;
        }
        self.join(&mut pieces, level - 1);
        let entries = self.settle(pieces);
        Some((entries != node.entries).then_some(Node { level, entries }))
    }

    fn broken<T>(&mut self) -> Option<T> {
        (self.failed, self.missing) = (Some(ApplyError::Broken), true);
        None
    }

    /// Joins sparse nodes with a neighbour, and removes empty ones.
    fn join(&mut self, pieces: &mut Vec<Piece>, level: u8) {
        let empty = |piece: &mut Piece| piece.node.as_ref().is_some_and(|node| node.entries.is_empty());
        for piece in pieces.extract_if(.., empty) {
            piece.number.into_iter().for_each(|number| self.free(number));
        }
        let mut at = 0;
        while at < pieces.len() {
            let sparse = pieces[at].node.as_ref().is_some_and(|node| node.bytes() < SPARSE);
            let pair = if at + 1 < pieces.len() { at } else { at.saturating_sub(1) };
            if !sparse || pieces.len() < 2 || !self.join_pair(pieces, pair, level) {
                at += 1;
            } else {
                at = pair;
            }
        }
    }

    /// Joins the pieces at `at` and after it, if they fit. True if it did.
    fn join_pair(&mut self, pieces: &mut Vec<Piece>, at: usize, level: u8) -> bool {
        let Some(mut left) = self.content(&pieces[at], level) else { return false };
        let Some(mut right) = self.content(&pieces[at + 1], level) else { return false };
        if left.bytes() + right.bytes() + pieces[at + 1].from.len() > JOINED {
            return false;
        }
        let Piece { from, number, .. } = pieces.remove(at + 1);
        if level > 0
            && let Some(first) = right.entries.first_mut()
        {
            first.key = from;
        }
        left.entries.append(&mut right.entries);
        pieces[at].node = Some(left);
        number.into_iter().for_each(|number| self.free(number));
        true
    }

    fn content(&mut self, piece: &Piece, level: u8) -> Option<Node> {
        match &piece.node {
            Some(node) => Some(node.clone()),
            None => Some((*self.node(piece.number?, level)?).clone()),
        }
    }

    /// Gives every piece a page; returns the entries of their parent.
    fn settle(&mut self, pieces: Vec<Piece>) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(pieces.len());
        for (at, Piece { from, number, node }) in pieces.into_iter().enumerate() {
            let number = match node {
                None => number,
                Some(node) => self.store(number, node),
            };
            let key = if at == 0 { Bytes::new() } else { from };
            entries.push(Entry { key, target: Target::Child(number.unwrap_or(0)) });
        }
        entries
    }

    /// Writes a node to the given page, or to a free one. `None` if there is none.
    fn store(&mut self, number: Option<PageNumber>, node: Node) -> Option<PageNumber> {
        if self.missing {
            return None;
        }
        let number = number.or_else(|| self.allocate())?;
        let Some(block) = node.encode(number) else { return self.broken() };
        self.batch.writes.insert(number, block);
        self.batch.nodes.insert(number, Rc::new(node));
        Some(number)
    }

    fn free(&mut self, number: PageNumber) {
        self.batch.writes.remove(&number);
        self.batch.nodes.remove(&number);
        self.batch.freed.insert(number);
    }

    /// Allocates a free page: one that this batch freed, or the next that the stream does not map.
    fn allocate(&mut self) -> Option<PageNumber> {
        if let Some(number) = self.batch.freed.pop_first() {
            return Some(number);
        }
        match self.source.hole(self.batch.first_hole) {
            Some(Ok(number)) => {
                self.batch.first_hole = number + 1;
                Some(number)
            }
            Some(Err(full)) => {
                (self.failed, self.missing) = (Some(full.into()), true);
                None
            }
            None => {
                self.missing = true;
                None
            }
        }
    }

    /// Applies the changes to the keys of `range` to a leaf.
    fn changed_leaf(&mut self, leaf: Node, range: KeyRange<'_>) -> Node {
        let changes = self.changes;
        let mut entries: Vec<Entry> = Vec::with_capacity(leaf.entries.len() + 4);
        let mut old = leaf.entries.into_iter().peekable();
        for (key, value) in changes.range::<[u8], _>(range) {
            while let Some(entry) = old.next_if(|entry| entry.key < *key) {
                entries.push(entry);
            }
            if let Some(entry) = old.next_if(|entry| entry.key == *key) {
                self.delta -= 1;
                if let Target::Value(Value::Long { pages, .. }) = entry.target {
                    pages.into_iter().for_each(|page| self.free(page));
                }
            }
            if let Some(value) = value {
                self.delta += 1;
                let value = self.new_value(key, value);
                entries.push(Entry { key: key.clone(), target: Target::Value(value) });
            }
        }
        entries.extend(old);
        Node { level: 0, entries }
    }

    fn new_value(&mut self, key: &Bytes, value: &Bytes) -> Value {
        if fits_inline(key, value.len()) {
            return Value::Inline(value.clone());
        }
        let pages: Vec<PageNumber> = (0..pages_of_value(value.len())).map(|_| self.allocate().unwrap_or(0)).collect();
        self.batch.writes.extend(encode_value(value, &pages));
        Value::Long { length: value.len() as u32, pages }
    }
}

/// True if the bounds form a range: the keys of a damaged tree may be out of order.
fn ascends(from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    match (from, to) {
        (Bound::Included(from), Bound::Excluded(to)) => from < to,
        _ => true,
    }
}

/// Splits a node that does not fit in a page. Without `node`, nothing has changed.
fn split(piece: Piece) -> Vec<Piece> {
    let Some(node) = piece.node else { return vec![piece] };
    let total = node.bytes();
    if total <= CAPACITY {
        return vec![Piece { node: Some(node), ..piece }];
    }
    let level = node.level;
    let target = total.div_ceil(total.div_ceil(CAPACITY));
    let mut parts: Vec<Vec<Entry>> = Vec::new();
    let mut filled = usize::MAX;
    for entry in node.entries {
        let bytes = entry.bytes();
        if filled >= target || filled + bytes > CAPACITY {
            parts.push(Vec::new());
            filled = 0;
        }
        filled += bytes;
        if let Some(part) = parts.last_mut() {
            part.push(entry);
        }
    }
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    let mut before: Option<Bytes> = None;
    let mut from = piece.from;
    for (at, mut entries) in parts.into_iter().enumerate() {
        let number = if at == 0 { piece.number } else { None };
        if at > 0
            && let Some(first) = entries.first_mut()
        {
            from = match (&before, level) {
                (Some(before), 0) => separator(before, &first.key),
                _ => std::mem::take(&mut first.key),
            };
        }
        before = entries.last().map(|entry| entry.key.clone());
        pieces.push(Piece { from: from.clone(), number, node: Some(Node { level, entries }) });
    }
    pieces
}

/// Returns the shortest key above `left` and not above `right`.
fn separator(left: &[u8], right: &Bytes) -> Bytes {
    let common = left.iter().zip(right.iter()).take_while(|(left, right)| left == right).count();
    right.slice(..(common + 1).min(right.len()))
}
