//! Reading of a whole index: every page once, many at a time, with all verification that a page and
//! its place in the tree allow.

use crate::catalog::DOCUMENTS;
use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::recovery::damaged;
use crate::geometry::blocks_for;
use crate::index::page::{MAX_VALUE_BYTES, decode_value};
use crate::index::{Checked, Expected, IndexRoot, Node, PageNumber, Value, block_of, check_node};
use crate::interface::{ObjectId, PoolError};
use crate::medium::blocking::read_many;
use bytes::Bytes;
use media::{Buffer, Media};
use std::collections::BTreeMap;

/// Number of pages read at once.
const PAGES_AT_ONCE: usize = 256;

/// Callback for a key and its value.
type Take<'a> = &'a mut dyn FnMut(&Bytes, Bytes);

impl<M: Media> Core<M> {
    /// Loads the documents from the index of the last checkpoint.
    pub(super) fn load_documents(&mut self, root: IndexRoot) -> Result<BTreeMap<String, Bytes>, PoolError> {
        self.count_mapped(DOCUMENTS)?;
        let mut documents = BTreeMap::new();
        let mut bad_key = false;
        let mut findings =
            self.read_index_tree(DOCUMENTS, root, &mut |key, value| match String::from_utf8(key.to_vec()) {
                Ok(key) => drop(documents.insert(key, value)),
                Err(_) => bad_key = true,
            })?;
        if bad_key {
            findings.push("a key of a document is not text".to_owned());
        }
        match findings.into_iter().next() {
            Some(finding) => Err(damaged(format!("the documents: {finding}"))),
            None => Ok(documents),
        }
    }

    /// Reads a tree of the index in one of the pool's own streams, and returns its defects. `take`
    /// gets the entries, those of one node in the order of their keys.
    pub(crate) fn read_index_tree(
        &mut self,
        stream: ObjectId,
        root: IndexRoot,
        take: Take<'_>,
    ) -> Result<Vec<String>, PoolError> {
        let mut checked = Checked::default();
        let mut nodes = Vec::new();
        if root.page != 0 {
            checked.named.insert(root.page);
            nodes.push(Expected { number: root.page, level: root.level, from: Bytes::new(), to: None });
        }
        while !nodes.is_empty() {
            let batch = nodes.split_off(nodes.len().saturating_sub(PAGES_AT_ONCE));
            let numbers: Vec<PageNumber> = batch.iter().map(|expected| expected.number).collect();
            let mut values = Vec::new();
            for (expected, page) in batch.iter().zip(self.read_pages_of(stream, &numbers)?) {
                match page.and_then(|page| Node::decode(&page, expected.number)) {
                    Ok(node) => {
                        let (below, _) = check_node(&mut checked, expected, &node);
                        nodes.extend(below);
                        values.extend(node.into_values());
                    }
                    Err(reason) => checked.findings.push(reason),
                }
            }
            self.read_values(stream, values, &mut checked.findings, take)?;
        }
        let mapped = self.map.objects().get(stream).map_or(0, |object| object.mapped);
        let blocks = blocks_for(self.map.objects().length(stream));
        Ok(checked.finish(root, blocks, mapped))
    }

    /// Passes entries on, with the content of long values.
    fn read_values(
        &mut self,
        stream: ObjectId,
        values: Vec<(Bytes, Value)>,
        findings: &mut Vec<String>,
        take: Take<'_>,
    ) -> Result<(), PoolError> {
        for (key, value) in values {
            let (length, pages) = match value {
                Value::Inline(value) => {
                    take(&key, value);
                    continue;
                }
                Value::Long { length, pages } => (length as usize, pages),
            };
            let mut content = Vec::with_capacity(length.min(MAX_VALUE_BYTES));
            for ((position, number), page) in (0..).zip(&pages).zip(self.read_pages_of(stream, &pages)?) {
                match page
                    .and_then(|page| decode_value(&page, *number, position).map(|part| content.extend_from_slice(part)))
                {
                    Ok(()) => {}
                    Err(reason) => findings.push(reason),
                }
            }
            match content.len() == length {
                true => take(&key, content.into()),
                false => findings.push(format!("a value of {length} bytes has {} in its pages", content.len())),
            }
        }
        Ok(())
    }

    /// Reads the content of index pages; for an unusable page, the reason.
    fn read_pages_of(
        &mut self,
        stream: ObjectId,
        numbers: &[PageNumber],
    ) -> Result<Vec<Result<Buffer, String>>, PoolError> {
        let mut places = Vec::with_capacity(numbers.len());
        for number in numbers {
            let entry = loop {
                self.map.forget_need();
                match self.map.lookup(stream, block_of(*number)) {
                    Some(entry) => break entry,
                    None => self.load_need()?,
                }
            };
            places.push((entry.address(), entry.crc()));
        }
        self.map.forget_need();
        let requests: Vec<_> =
            places.iter().filter(|(address, _)| !address.is_none()).map(|place| (place.0, 1)).collect();
        let mut read = read_many(self.medium.media_mut(), &requests).into_iter();
        let mut pages = Vec::with_capacity(numbers.len());
        for (number, (address, crc)) in numbers.iter().zip(places) {
            if address.is_none() {
                pages.push(Err(format!("index page {number}: it is not stored")));
                continue;
            }
            if let Some(page) = self.unwritten_block(address).filter(|page| Crc32c::of(page) == crc) {
                // The file system below is full, and the checkpoint that writes the page waits.
                read.next();
                pages.push(Ok(page));
                continue;
            }
            let good = |read: Option<Result<Buffer, String>>| match read {
                Some(Ok(page)) if Crc32c::of(&page) == crc => Ok(page),
                Some(Err(reason)) => Err(format!("index page {number}: {reason}")),
                _ => Err(format!("index page {number}: catalog block {address} fails its checksum")),
            };
            // Second attempt: the defect may have been in the transfer.
            let page = good(read.next()).or_else(|_| good(read_many(self.medium.media_mut(), &[(address, 1)]).pop()));
            pages.push(page);
        }
        Ok(pages)
    }
}
