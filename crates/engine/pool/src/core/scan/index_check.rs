//! Check of the index of the documents, as part of a check of a pool in use: the map of their
//! stream gives the blocks of its pages, then the tree is walked from its top.

use crate::checksum::Crc32c;
use crate::core::io::IndexRead;
use crate::index::page::{CAPACITY, Target, decode_value};
use crate::index::{Checked, Expected, IndexRoot, Node, PageNumber, Value, check_node};
use crate::interface::range::BlockNumber;
use bytes::Bytes;
use media::{BlockAddress, Buffer};
use rustc_hash::FxHashMap;

/// Index being checked.
#[derive(Default)]
pub(crate) struct IndexCheck {
    root: IndexRoot,
    /// Length of the stream in blocks.
    blocks: u64,
    /// Address and checksum of each page.
    places: FxHashMap<PageNumber, (BlockAddress, Crc32c)>,
    unread: Vec<IndexRead>,
    /// Bytes of values that unread pages must hold.
    parts: FxHashMap<PageNumber, usize>,
    checked: Checked,
}

impl IndexCheck {
    /// Creates a check of an index whose pages are not known yet.
    pub fn new(root: IndexRoot, blocks: u64) -> Self {
        let mut check = Self { root, blocks, ..Self::default() };
        if root.page != 0 {
            check.checked.named.insert(root.page);
            let top = Expected { number: root.page, level: root.level, from: Bytes::new(), to: None };
            check.unread.push(IndexRead::Node(top));
        }
        check
    }

    /// Notes that the map of the stream names a block.
    pub fn note_place(&mut self, block: BlockNumber, address: BlockAddress, crc: Crc32c) {
        if let Ok(number) = PageNumber::try_from(block.get()) {
            self.places.insert(number, (address, crc));
        }
    }

    /// True while pages are left to read.
    pub fn has_more(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Next page to read, and its address. `None` if there is none now; pages being read may name
    /// more.
    pub fn next(&mut self) -> Option<(IndexRead, BlockAddress)> {
        while let Some(read) = self.unread.pop() {
            let number = read.number();
            match self.places.get(&number) {
                Some((address, _)) => return Some((read, *address)),
                None => self.checked.findings.push(format!("index page {number}: it is not stored")),
            }
        }
        None
    }

    /// Handles a page that was read.
    pub fn arrived(&mut self, read: &IndexRead, page: Result<Buffer, String>) {
        let number = read.number();
        let crc = self.places.get(&number).map_or(Crc32c::NONE, |(_, crc)| *crc);
        let page = page.and_then(|page| match Crc32c::of(&page) == crc {
            true => Ok(page),
            false => Err(format!("index page {number}: it fails its checksum")),
        });
        let outcome = match read {
            IndexRead::Node(expected) => page.and_then(|page| Node::decode(&page, number)).map(|node| {
                self.note_values(&node);
                let (below, long) = check_node(&mut self.checked, expected, &node);
                self.unread.extend(below.into_iter().map(IndexRead::Node));
                self.unread.extend(long.into_iter().map(|(number, position)| IndexRead::Value(number, position)));
            }),
            IndexRead::Value(_, position) => page.and_then(|page| {
                let found = decode_value(&page, number, *position)?.len();
                match self.parts.remove(&number) {
                    Some(bytes) if bytes != found => {
                        Err(format!("index page {number}: it has {found} bytes of a value, not {bytes}"))
                    }
                    _ => Ok(()),
                }
            }),
        };
        if let Err(reason) = outcome {
            self.checked.findings.push(reason);
        }
    }

    /// Notes what the pages of the values of a leaf must hold. Keys must be text, as opening demands.
    fn note_values(&mut self, node: &Node) {
        for entry in &node.entries {
            let Target::Value(value) = &entry.target else { return };
            if std::str::from_utf8(&entry.key).is_err() {
                self.checked.findings.push("a key of a document is not text".to_owned());
            }
            if let Value::Long { length, pages } = value {
                let rest = (0..).step_by(CAPACITY).map(|before| (*length as usize).saturating_sub(before));
                self.parts.extend(pages.iter().copied().zip(rest.map(|rest| rest.min(CAPACITY))));
            }
        }
    }

    /// Findings, after all pages were read.
    pub fn findings(self) -> Vec<String> {
        self.checked.finish(self.root, self.blocks, self.places.len() as u64)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::index::block_of;
    use crate::index::page::{Entry, encode_value};
    use std::collections::BTreeMap;

    /// Findings for a leaf with one value, whose pages say 9000 bytes and hold `bytes`.
    fn findings(key: &'static [u8], bytes: usize) -> Vec<String> {
        let value = Value::Long { length: 9000, pages: vec![2, 3, 4] };
        let entry = Entry { key: Bytes::from_static(key), target: Target::Value(value) };
        let leaf = Node { level: 0, entries: vec![entry] }.encode(1).unwrap();
        let mut pages: BTreeMap<_, _> = encode_value(&vec![7; bytes], &[2, 3, 4]).into_iter().collect();
        pages.insert(1, leaf);
        let mut check = IndexCheck::new(IndexRoot { page: 1, level: 0, entries: 1 }, 5);
        for (number, page) in &pages {
            check.note_place(block_of(*number), BlockAddress::new(u64::from(*number)), Crc32c::of(&page[..]));
        }
        while let Some((read, address)) = check.next() {
            let mut buffer = Buffer::zeroed(1);
            buffer.copy_from_slice(&pages[&(address.get() as PageNumber)][..]);
            check.arrived(&read, Ok(buffer));
        }
        check.findings()
    }

    #[test]
    fn a_check_refuses_what_opening_refuses() {
        assert_eq!(findings(b"key", 9000), Vec::<String>::new());
        assert_eq!(findings(b"key", 8999), ["index page 4: it has 839 bytes of a value, not 840"]);
        assert_eq!(findings(b"key", 9001), ["index page 4: it has 841 bytes of a value, not 840"]);
        assert_eq!(findings(b"\xff", 9000), ["a key of a document is not text"]);
    }
}
