//! Documents: values under keys, both opaque to the pool. All of them are in memory, since their
//! readers do not wait. Their stored form is an ordered index, of which a checkpoint writes the
//! changed pages. A pool of an older release has a list instead until a document changes and there is
//! room for the index.

use crate::catalog::stream;
use bytes::Bytes;
use std::collections::BTreeMap;

/// The documents, and the length of their stored form.
#[derive(Default)]
pub(crate) struct Documents {
    by_key: BTreeMap<String, Bytes>,
    stored_bytes: u64,
    /// Something changed since the last freeze.
    changed: bool,
}

impl Documents {
    /// Takes over stored documents.
    pub fn load(stored: &[u8]) -> Result<Self, String> {
        let by_key = stream::decode_documents(stored)?;
        let stored_bytes = by_key.iter().map(|(key, value)| stream::document_bytes(key, value)).sum();
        Ok(Self { by_key, stored_bytes, changed: false })
    }

    /// Every document by key.
    pub fn all(&self) -> &BTreeMap<String, Bytes> {
        &self.by_key
    }

    /// Bytes of key and value of one document; 0 if it does not exist.
    pub fn bytes_of(&self, key: &str) -> u64 {
        self.by_key.get(key).map_or(0, |value| stream::document_bytes(key, value))
    }

    /// Length of the stored form.
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// Stores a document in place of the one that has the key.
    pub fn put(&mut self, key: &str, value: Bytes) {
        self.stored_bytes -= self.bytes_of(key);
        self.stored_bytes += stream::document_bytes(key, &value);
        self.by_key.insert(key.to_owned(), value);
        self.changed = true;
    }

    /// Removes a document; absent is fine.
    pub fn delete(&mut self, key: &str) {
        self.stored_bytes -= self.bytes_of(key);
        self.by_key.remove(key);
        self.changed = true;
    }

    /// The stored form, if it changed since the last freeze.
    pub fn encode_changed(&self) -> Option<Vec<u8>> {
        self.changed.then(|| stream::encode_documents(&self.by_key))
    }

    /// The freeze has written what changed.
    pub fn note_frozen(&mut self) {
        self.changed = false;
    }
}
