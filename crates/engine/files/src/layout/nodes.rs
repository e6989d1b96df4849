//! Common layout of the nodes of a directory, and the header node.
//!
//! A directory is a B+-tree of nodes of one block each, numbered within its region. While it is small, node 0 is
//! the only leaf, or all zeros if there is no entry. Otherwise node 0 is the header: root, levels, and the bitmap
//! of nodes in use. A bitmap node, the first of its group, has the bits of each further 2¹⁵ nodes, its own among
//! them; it is zeros while no other node of the group is in use.
//!
//! | bytes | of each node but bitmaps |
//! |---|---|
//! | 0 | kind: 1 leaf, 2 interior, 3 header |
//! | 1 | level: 0 for a leaf; of a header, that of the root |
//! | 2..4 | entries |
//! | 4..6 | leaf: start of its entries |
//! | 8..12 | number of the node |
//! | 16..24 | directory |
//! | 24..36 | header: root, nodes in use, smallest node that may be free |
//! | 2048.. | header: bitmap |

use crate::engine::{BLOCK_BYTES, Block};
use vfs::FileId;

/// Bytes before the entries.
pub(crate) const HEAD: usize = 24;
/// Bytes of a node.
pub(crate) const NODE_BYTES: usize = BLOCK_BYTES as usize;

pub(crate) const LEAF: u8 = 1;
pub(crate) const INTERIOR: u8 = 2;
pub(crate) const HEADER: u8 = 3;

const BITMAP: usize = 2048;
/// Nodes with their bit in the header.
pub(crate) const HEADER_NODES: u32 = ((NODE_BYTES - BITMAP) * 8) as u32;
/// Nodes with their bit in one bitmap node.
pub(crate) const GROUP_NODES: u32 = (NODE_BYTES * 8) as u32;
/// Most levels above the leaves: more than any directory can have.
pub(crate) const MOST_LEVELS: u8 = 8;

/// Place of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub directory: FileId,
    pub node: u32,
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).map_or(0, u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// Begins a node.
pub(crate) fn begin(place: Place, kind: u8, level: u8) -> Block {
    let mut bytes = [0; NODE_BYTES];
    bytes[..2].copy_from_slice(&[kind, level]);
    put(&mut bytes, 8, &place.node.to_le_bytes());
    put(&mut bytes, 16, &place.directory.0.to_le_bytes());
    bytes
}

/// Whether a node is where it says it is, and of this kind.
pub(crate) fn is_at(bytes: &Block, place: Place, kind: u8) -> bool {
    bytes[0] == kind
        && bytes[1] <= MOST_LEVELS
        && u32_at(bytes, 8) == place.node
        && u64_at(bytes, 16) == place.directory.0
}

/// What every call needs of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub root: u32,
    /// Level of the root, at least 1.
    pub level: u8,
    /// Nodes in use, without header and bitmaps.
    pub nodes: u32,
}

impl Head {
    pub(crate) fn decode(bytes: &Block, directory: FileId) -> Result<Self, ()> {
        let head = Self { root: u32_at(bytes, HEAD), level: bytes[1], nodes: u32_at(bytes, HEAD + 4) };
        let fine = is_at(bytes, Place { directory, node: 0 }, HEADER) && head.level > 0 && head.root > 0;
        if fine { Ok(head) } else { Err(()) }
    }
}

/// Header of a directory that has more than one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header(Box<Block>);

impl Header {
    /// Header in which only itself is in use.
    pub(crate) fn new(directory: FileId) -> Self {
        let mut header = Self(Box::new(begin(Place { directory, node: 0 }, HEADER, 0)));
        header.set(0, true);
        header
    }

    pub(crate) fn decode(bytes: &Block, directory: FileId) -> Result<Self, ()> {
        Head::decode(bytes, directory).map(|_| Self(Box::new(*bytes)))
    }

    pub(crate) fn head(&self) -> Head {
        Head { root: self.root(), level: self.level(), nodes: self.nodes() }
    }

    pub(crate) fn bytes(&self) -> &Block {
        &self.0
    }

    /// Level of the root, at least 1.
    pub(crate) fn level(&self) -> u8 {
        self.0[1]
    }

    pub(crate) fn root(&self) -> u32 {
        u32_at(&self.0[..], HEAD)
    }

    pub(crate) fn set_root(&mut self, root: u32, level: u8) {
        self.0[1] = level;
        put(&mut self.0[..], HEAD, &root.to_le_bytes());
    }

    /// Nodes in use, without header and bitmaps.
    pub(crate) fn nodes(&self) -> u32 {
        u32_at(&self.0[..], HEAD + 4)
    }

    pub(crate) fn set_nodes(&mut self, nodes: u32) {
        put(&mut self.0[..], HEAD + 4, &nodes.to_le_bytes());
    }

    /// No smaller node is free.
    pub(crate) fn hint(&self) -> u32 {
        u32_at(&self.0[..], HEAD + 8)
    }

    pub(crate) fn set_hint(&mut self, node: u32) {
        put(&mut self.0[..], HEAD + 8, &node.to_le_bytes());
    }

    /// Smallest free node at or behind `from` with its bit here.
    pub(crate) fn free(&self, from: u32) -> Option<u32> {
        zero_bit(&self.0[BITMAP..], from)
    }

    pub(crate) fn set(&mut self, node: u32, used: bool) {
        set_bit(&mut self.0[BITMAP..], node, used);
    }

    pub(crate) fn is_used(&self, node: u32) -> bool {
        bit(&self.0[BITMAP..], node)
    }
}

/// First bit that is 0, at or behind `from`.
pub(crate) fn zero_bit(bitmap: &[u8], from: u32) -> Option<u32> {
    let first = from as usize / 8;
    bitmap.iter().enumerate().skip(first).find_map(|(at, byte)| {
        let before = if at == first { (1_u8 << (from % 8)) - 1 } else { 0 };
        let ones = (byte | before).trailing_ones();
        (ones < 8).then_some(at as u32 * 8 + ones)
    })
}

pub(crate) fn bit(bitmap: &[u8], at: u32) -> bool {
    bitmap.get(at as usize / 8).is_some_and(|byte| byte & 1 << (at % 8) != 0)
}

pub(crate) fn set_bit(bitmap: &mut [u8], at: u32, value: bool) {
    if let Some(byte) = bitmap.get_mut(at as usize / 8) {
        let mask = 1 << (at % 8);
        *byte = if value { *byte | mask } else { *byte & !mask };
    }
}

/// Bitmap node of a node's group, and its bit there; `None` if the header has it.
pub(crate) const fn group_of(node: u32) -> Option<(u32, u32)> {
    if node < HEADER_NODES {
        return None;
    }
    let bit = (node - HEADER_NODES) % GROUP_NODES;
    Some((node - bit, bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_finds_the_smallest_free_node() {
        let mut header = Header::new(FileId(20));
        assert_eq!(header.free(0), Some(1));
        (1..40).for_each(|node| header.set(node, true));
        header.set(13, false);
        assert_eq!((header.free(0), header.free(13), header.free(14)), (Some(13), Some(13), Some(40)));
        (0..HEADER_NODES).for_each(|node| header.set(node, true));
        assert_eq!(header.free(5), None);
        assert!(header.is_used(HEADER_NODES - 1) && !header.is_used(HEADER_NODES));
    }

    #[test]
    fn a_header_is_what_was_stored() {
        let mut header = Header::new(FileId(20));
        header.set_root(7, 2);
        header.set_nodes(9);
        header.set_hint(3);
        let read = Header::decode(header.bytes(), FileId(20));
        let fields = |header: Header| (header.root(), header.level(), header.nodes(), header.hint());
        assert_eq!(read.map(fields), Ok((7, 2, 9, 3)));
        assert_eq!(Header::decode(header.bytes(), FileId(21)), Err(()));
        assert_eq!(Header::decode(&[0; 4096], FileId(20)), Err(()));
    }

    #[test]
    fn each_group_begins_with_its_bitmap() {
        assert_eq!(group_of(HEADER_NODES - 1), None);
        assert_eq!(group_of(HEADER_NODES), Some((HEADER_NODES, 0)));
        assert_eq!(group_of(HEADER_NODES + GROUP_NODES + 5), Some((HEADER_NODES + GROUP_NODES, 5)));
    }
}
