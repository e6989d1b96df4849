//! Pages of the index: nodes of the tree, and pages that hold the part of a value that is too long for a leaf.
//!
//! ```text
//! node
//! 0     4  magic "WLix"
//! 4     1  level: 0 for a leaf
//! 5     1  reserved
//! 6     2  number of entries
//! 8     4  number of the page
//! 12    4  bytes in use, header included
//! 16       entries, ascending by key
//!          leaf      key length (2) | value length (4) | key | value, or its pages' numbers (4 each)
//!          interior  key length (2) | page number of the child (4) | key; the first key is empty
//!
//! page of a long value
//! 0     4  magic "WLiv"
//! 4     4  number of the page
//! 8     4  position of the page within the value: 0, 1, …
//! 12    4  bytes in use, header included
//! 16       content
//! ```
//!
//! Bytes after those in use are zero. The map of the stream holds the checksum of each page, so a
//! page contains none.

use crate::interface::range::BlockNumber;
use bytes::Bytes;
use media::BLOCK_BYTES;

/// First bytes of a node: "WLix".
const NODE_MAGIC: u32 = u32::from_le_bytes(*b"WLix");
/// First bytes of a page of a long value: "WLiv".
const VALUE_MAGIC: u32 = u32::from_le_bytes(*b"WLiv");
const HEADER_BYTES: usize = 16;
/// Capacity of a page: bytes of entries in a node, or of content in a page of a long value.
pub(crate) const CAPACITY: usize = BLOCK_BYTES - HEADER_BYTES;
/// Bytes of an entry without its key and the data after the key.
const CELL_BYTES: usize = 6;
/// Largest entry in bytes: a node holds at least two.
const MAX_CELL: usize = CAPACITY / 2;
/// Longest key in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 512;
/// Longest value in bytes.
pub(crate) const MAX_VALUE_BYTES: usize = 1 << 20;
/// Highest level of a node, far above the need of 2³² pages.
pub(crate) const MAX_LEVEL: u8 = 15;

/// Largest number of pages in a stream: the span of a map of three levels, 64 GiB.
pub(crate) const PAGES: u32 = 1 << 24;

/// Number of a page: its block within the stream. Page 0 is never used.
pub(crate) type PageNumber = u32;

/// Block of the index's stream that holds a page.
pub(crate) fn block_of(page: PageNumber) -> BlockNumber {
    BlockNumber::new(u64::from(page))
}

/// Content of a page.
pub(crate) type Block = [u8; BLOCK_BYTES];

/// Value in a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// The value itself.
    Inline(Bytes),
    /// Length and pages of a value that is too long for a leaf.
    Long { length: u32, pages: Vec<PageNumber> },
}

impl Value {
    /// Length of the value in bytes.
    pub fn length(&self) -> usize {
        match self {
            Self::Inline(value) => value.len(),
            Self::Long { length, .. } => *length as usize,
        }
    }

    fn stored(&self) -> usize {
        match self {
            Self::Inline(value) => value.len(),
            Self::Long { pages, .. } => 4 * pages.len(),
        }
    }
}

/// Target of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Child(PageNumber),
    Value(Value),
}

/// Entry of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub key: Bytes,
    pub target: Target,
}

impl Entry {
    /// Bytes of the entry in a page.
    pub fn bytes(&self) -> usize {
        let rest = match &self.target {
            Target::Child(_) => 0,
            Target::Value(value) => value.stored(),
        };
        CELL_BYTES + self.key.len() + rest
    }
}

/// True if a value of this length is stored in the leaf, next to its key.
pub(crate) fn fits_inline(key: &[u8], value_bytes: usize) -> bool {
    CELL_BYTES + key.len() + value_bytes <= MAX_CELL
}

/// Number of pages of a value of this length that is not stored in the leaf.
pub(crate) const fn pages_of_value(bytes: usize) -> usize {
    bytes.div_ceil(CAPACITY)
}

/// Node of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub level: u8,
    pub entries: Vec<Entry>,
}

impl Node {
    /// Bytes of the entries.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// Child at a position.
    pub fn child(&self, at: usize) -> Option<PageNumber> {
        match self.entries.get(at)?.target {
            Target::Child(number) => Some(number),
            Target::Value(_) => None,
        }
    }

    /// Entries of a leaf; none for an interior node.
    pub fn into_values(self) -> impl Iterator<Item = (Bytes, Value)> {
        self.entries.into_iter().filter_map(|entry| match entry.target {
            Target::Value(value) => Some((entry.key, value)),
            Target::Child(_) => None,
        })
    }

    /// Encodes the node as page `number`. `None` if it does not fit, which is a defect of the
    /// caller.
    pub fn encode(&self, number: PageNumber) -> Option<Box<Block>> {
        let mut out = Vec::with_capacity(BLOCK_BYTES);
        let used = HEADER_BYTES + self.bytes();
        out.extend_from_slice(&NODE_MAGIC.to_le_bytes());
        out.extend_from_slice(&[self.level, 0]);
        out.extend_from_slice(&u16::try_from(self.entries.len()).ok()?.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&u32::try_from(used).ok()?.to_le_bytes());
        for entry in &self.entries {
            out.extend_from_slice(&u16::try_from(entry.key.len()).ok()?.to_le_bytes());
            match &entry.target {
                Target::Child(child) => {
                    out.extend_from_slice(&child.to_le_bytes());
                    out.extend_from_slice(&entry.key);
                }
                Target::Value(value) => {
                    out.extend_from_slice(&u32::try_from(value.length()).ok()?.to_le_bytes());
                    out.extend_from_slice(&entry.key);
                    match value {
                        Value::Inline(value) => out.extend_from_slice(value),
                        Value::Long { pages, .. } => {
                            pages.iter().for_each(|page| out.extend_from_slice(&page.to_le_bytes()));
                        }
                    }
                }
            }
        }
        if out.len() != used || used > BLOCK_BYTES {
            return None;
        }
        out.resize(BLOCK_BYTES, 0);
        out.into_boxed_slice().try_into().ok()
    }

    /// Decodes page `number` as a node. The error describes the problem.
    pub fn decode(block: &[u8], number: PageNumber) -> Result<Self, String> {
        let bad = |what: &str| format!("index page {number}: {what}");
        let content = content(block, NODE_MAGIC, number)?;
        let level = block.get(4).copied().unwrap_or(u8::MAX);
        let count = usize::from(block.get(6..8).map_or(0, |raw| u16::from_le_bytes([raw[0], raw[1]])));
        if level > MAX_LEVEL || block.get(5) != Some(&0) {
            return Err(bad("its header is malformed"));
        }
        let mut rest = Bytes::copy_from_slice(content);
        let mut entries: Vec<Entry> = Vec::with_capacity(count.min(CAPACITY / CELL_BYTES));
        while !rest.is_empty() {
            let entry = Self::entry(&mut rest, level).ok_or_else(|| bad("an entry is malformed"))?;
            let ascends = match entries.last() {
                Some(last) => last.key < entry.key,
                None => level == 0 || entry.key.is_empty(),
            };
            if !ascends {
                return Err(bad("its keys do not ascend"));
            }
            entries.push(entry);
        }
        if entries.len() != count || entries.is_empty() {
            return Err(bad("it has another number of entries than it says"));
        }
        Ok(Self { level, entries })
    }

    fn entry(rest: &mut Bytes, level: u8) -> Option<Entry> {
        let head: [u8; CELL_BYTES] = rest.get(..CELL_BYTES)?.try_into().ok()?;
        let key_bytes = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let word = u32::from_le_bytes([head[2], head[3], head[4], head[5]]);
        let mut take = |bytes: usize| (bytes <= rest.len()).then(|| rest.split_to(bytes));
        take(CELL_BYTES)?;
        let key = take(key_bytes).filter(|key| key.len() <= MAX_KEY_BYTES)?;
        if level > 0 {
            return (word != 0).then_some(Entry { key, target: Target::Child(word) });
        }
        let length = word as usize;
        let value = if length > MAX_VALUE_BYTES {
            return None;
        } else if fits_inline(&key, length) {
            Value::Inline(take(length)?)
        } else {
            let raw = take(4 * pages_of_value(length))?;
            let pages = raw.as_chunks::<4>().0.iter().map(|raw| u32::from_le_bytes(*raw)).collect();
            Value::Long { length: word, pages }
        };
        Some(Entry { key, target: Target::Value(value) })
    }
}

/// Bytes in use of a page, after its header.
fn content(block: &[u8], magic: u32, number: PageNumber) -> Result<&[u8], String> {
    let word = |at: usize| block.get(at..at + 4).map_or(0, |raw| u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]));
    if block.len() != BLOCK_BYTES || word(0) != magic {
        return Err(format!("index page {number}: it is no such page"));
    }
    if word(8 - if magic == VALUE_MAGIC { 4 } else { 0 }) != number {
        return Err(format!("index page {number}: it is misplaced"));
    }
    let (used, rest) = block
        .split_at_checked(word(12) as usize)
        .ok_or_else(|| format!("index page {number}: it says that more bytes are in use than it has"))?;
    if rest.iter().any(|byte| *byte != 0) {
        return Err(format!("index page {number}: it holds something behind its end"));
    }
    used.get(HEADER_BYTES..).ok_or_else(|| format!("index page {number}: its header is malformed"))
}

/// Identity in a block: the number of the page, and for a page of a long value its position in the
/// value. `None`: not a page of an index.
pub(crate) fn identify(block: &[u8]) -> Option<(PageNumber, Option<u32>)> {
    let word = |at: usize| block.get(at..at + 4).map_or(0, |raw| u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]));
    match word(0) {
        NODE_MAGIC => Some((word(8), None)),
        VALUE_MAGIC => Some((word(4), Some(word(8)))),
        _ => None,
    }
}

/// Encodes a long value: content for each of `pages`.
pub(crate) fn encode_value(value: &[u8], pages: &[PageNumber]) -> Vec<(PageNumber, Box<Block>)> {
    let mut out = Vec::with_capacity(pages.len());
    for (position, (number, part)) in pages.iter().zip(value.chunks(CAPACITY)).enumerate() {
        let mut block = Box::new([0u8; BLOCK_BYTES]);
        let words = [VALUE_MAGIC, *number, position as u32, (HEADER_BYTES + part.len()) as u32];
        for (place, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        block[HEADER_BYTES..HEADER_BYTES + part.len()].copy_from_slice(part);
        out.push((*number, block));
    }
    out
}

/// Content of page `number` of a long value, at this position in the value.
pub(crate) fn decode_value(block: &[u8], number: PageNumber, position: u32) -> Result<&[u8], String> {
    let content = content(block, VALUE_MAGIC, number)?;
    let found = block.get(8..12).map_or(0, |raw| u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]));
    if found != position {
        return Err(format!("index page {number}: it is part {found} of a value, not part {position}"));
    }
    Ok(content)
}
