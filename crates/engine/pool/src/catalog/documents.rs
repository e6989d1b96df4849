//! Documents: values under keys, both opaque to the pool. All of them are in memory, since their
//! readers do not wait. Their stored form is an ordered index, of which a checkpoint writes the
//! changed pages. A pool of an older release has a list instead until a document changes and there is
//! room for the index.

use crate::catalog::stream;
use crate::geometry::blocks_for;
use crate::index::{Changes, IndexRoot, PageNumber, bulk_nodes, long_pages, written_nodes};
use bytes::Bytes;
use std::collections::BTreeMap;

/// Stored form of the documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stored {
    /// One list, as releases before the index wrote it. The next change replaces
    /// it by the index, if there is room for that.
    #[default]
    List,
    /// An index.
    Index(IndexRoot),
}

/// Sums over documents, which determine the size of an index that holds them.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    /// Bytes of their entries in leaves.
    entry_bytes: u64,
    /// Pages of long values.
    pages: u64,
    /// Bytes of a list of them.
    list_bytes: u64,
}

impl Size {
    fn of(key: &str, value_bytes: usize) -> Self {
        let pages = long_pages(key.as_bytes(), value_bytes);
        let rest = if pages == 0 { value_bytes as u64 } else { 4 * pages };
        let list_bytes = stream::document_bytes(key.len(), value_bytes);
        Self { entry_bytes: ENTRY_BYTES + key.len() as u64 + rest, pages, list_bytes }
    }

    fn add(&mut self, other: Self) {
        self.entry_bytes += other.entry_bytes;
        self.pages += other.pages;
        self.list_bytes += other.list_bytes;
    }

    fn remove(&mut self, other: Self) {
        self.entry_bytes -= other.entry_bytes;
        self.pages -= other.pages;
        self.list_bytes -= other.list_bytes;
    }

    /// Largest number of pages of an index that is written at once.
    fn whole_index(&self) -> u64 {
        if self.entry_bytes == 0 { 0 } else { bulk_nodes(self.entry_bytes) + self.pages }
    }
}

/// Bytes of an entry of a leaf besides key and value.
const ENTRY_BYTES: u64 = 6;

/// Documents, and the set of those that the next checkpoint stores.
#[derive(Default)]
pub(crate) struct Documents {
    by_key: BTreeMap<String, Bytes>,
    size: Size,
    stored: Stored,
    /// Damage of the stored index, in place of which the next freeze writes a new one.
    damage: Option<String>,
    /// Lower bound of the free pages of the index.
    first_hole: PageNumber,
    /// Documents changed since the last freeze, each with the most pages that storing it writes.
    changed: BTreeMap<String, u64>,
    /// Sum of the pages in `changed`.
    changed_pages: u64,
    /// True if the next freeze may have to write pages: documents have changed or are stored as a
    /// list.
    unsettled: bool,
}

impl Documents {
    /// Loads a stored list.
    pub fn load_list(stored: &[u8]) -> Result<Self, String> {
        Ok(Self::load(Stored::List, stream::decode_documents(stored)?))
    }

    /// Loads the content of an index.
    pub fn load_index(root: IndexRoot, by_key: BTreeMap<String, Bytes>) -> Self {
        Self::load(Stored::Index(root), by_key)
    }

    fn load(stored: Stored, by_key: BTreeMap<String, Bytes>) -> Self {
        let mut size = Size::default();
        by_key.iter().for_each(|(key, value)| size.add(Size::of(key, value.len())));
        let mut documents = Self { by_key, size, ..Self::default() };
        documents.note_frozen(stored, 1);
        documents
    }

    /// All documents by key.
    pub fn all(&self) -> &BTreeMap<String, Bytes> {
        &self.by_key
    }

    /// Bytes of key and value of one document; 0 if it does not exist.
    pub fn bytes_of(&self, key: &str) -> u64 {
        self.by_key.get(key).map_or(0, |value| stream::document_bytes(key.len(), value.len()))
    }

    /// Stored form in the last checkpoint.
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// Damage of the stored index, if any was noted since the last freeze.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Notes that the stored index is damaged: the next freeze writes all documents to a new one.
    pub fn note_damage(&mut self, reason: String) {
        self.damage = Some(reason);
    }

    /// Lower bound of the free pages of the index.
    pub fn first_hole(&self) -> PageNumber {
        self.first_hole.max(1)
    }

    /// True if the next freeze has documents to store.
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Stores a document; replaces the one with the same key.
    pub fn put(&mut self, key: &str, value: Bytes) {
        self.note_change(key, Some(value.len()));
        if let Some(old) = self.by_key.insert(key.to_owned(), value) {
            self.size.remove(Size::of(key, old.len()));
        }
    }

    /// Removes a document, if it exists.
    pub fn delete(&mut self, key: &str) {
        if let Some(old) = self.by_key.remove(key) {
            self.note_change(key, None);
            self.size.remove(Size::of(key, old.len()));
        }
    }

    fn note_change(&mut self, key: &str, value_bytes: Option<usize>) {
        self.unsettled = true;
        let pages = self.pages_of_change(key, value_bytes);
        let before = self.changed.insert(key.to_owned(), pages).unwrap_or(0);
        self.changed_pages = self.changed_pages + pages - before;
        if let Some(bytes) = value_bytes {
            self.size.add(Size::of(key, bytes));
        }
    }

    /// Largest number of pages that storing one change writes.
    fn pages_of_change(&self, key: &str, value_bytes: Option<usize>) -> u64 {
        let level = match self.stored {
            Stored::List => 0,
            Stored::Index(root) => root.level,
        };
        written_nodes(level) + value_bytes.map_or(0, |bytes| long_pages(key.as_bytes(), bytes))
    }

    /// Largest number of pages of an index of all documents.
    pub fn pages_of_whole_index(&self) -> u64 {
        self.size.whole_index()
    }

    /// Largest number of pages that the next freeze writes: changed ones of an index, or all of a
    /// list. It replaces the list by an index only if there is room for that.
    pub fn pages_to_write(&self) -> u64 {
        match self.stored {
            Stored::List => blocks_for(self.size.list_bytes),
            Stored::Index(_) if self.damage.is_some() => self.size.whole_index(),
            Stored::Index(_) => self.changed_pages,
        }
    }

    /// Like [`Documents::pages_to_write`], if these values are also stored (`None`: removed) before
    /// the freeze.
    pub fn pages_to_write_after(&self, values: &BTreeMap<&str, Option<usize>>) -> u64 {
        match self.stored {
            Stored::Index(_) if self.damage.is_none() => {
                let more = values.iter().map(|(key, bytes)| self.pages_of_change(key, *bytes));
                let known = values.keys().filter_map(|key| self.changed.get(*key));
                self.changed_pages + more.sum::<u64>() - known.sum::<u64>()
            }
            Stored::List | Stored::Index(_) => {
                let mut size = self.size;
                for (key, bytes) in values {
                    bytes.iter().for_each(|bytes| size.add(Size::of(key, *bytes)));
                    self.by_key.get(*key).iter().for_each(|old| size.remove(Size::of(key, old.len())));
                }
                if self.stored == Stored::List { blocks_for(size.list_bytes) } else { size.whole_index() }
            }
        }
    }

    /// Documents that the next freeze has to store: all of them in place of a list or of a damaged
    /// index, otherwise the changed ones. `None`: nothing has changed.
    pub fn to_store(&self) -> Option<Changes> {
        if self.changed.is_empty() {
            return None;
        }
        let key = |key: &String| Bytes::copy_from_slice(key.as_bytes());
        Some(match self.stored {
            Stored::Index(_) if self.damage.is_none() => {
                self.changed.keys().map(|name| (key(name), self.by_key.get(name).cloned())).collect()
            }
            Stored::List | Stored::Index(_) => {
                self.by_key.iter().map(|(name, value)| (key(name), Some(value.clone()))).collect()
            }
        })
    }

    /// Notes that the freeze has stored the changes.
    pub fn note_frozen(&mut self, stored: Stored, first_hole: PageNumber) {
        (self.stored, self.first_hole) = (stored, first_hole);
        self.damage = None;
        self.changed.clear();
        self.changed_pages = 0;
        self.unsettled = stored == Stored::List && !self.by_key.is_empty();
    }

    /// False if the next freeze writes no pages for the present documents.
    #[inline]
    pub fn is_unsettled(&self) -> bool {
        self.unsettled
    }
}
