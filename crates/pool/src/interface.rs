//! What the rest of the array asks of the pool besides block I/O: objects, documents and space. `control` is written against the
//! [`Catalog`] trait, so that it can be tested over a map in memory.

use bytes::Bytes;
use thiserror::Error;

/// Identity of an object (a volume or snapshot). Never reused within a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Writable.
    Volume,
    /// Read-only point in time.
    Snapshot,
}

/// One change of the catalog. A list of them is applied as a whole or not at all, and is durable before the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogChange {
    /// A new, empty volume. `size_bytes` is a multiple of 512.
    CreateVolume {
        /// From [`Catalog::new_object_id`].
        id: ObjectId,
        /// Size the host sees.
        size_bytes: u64,
    },
    /// A new object that shares all content of `source`. Cost does not depend on size.
    CloneObject {
        /// Object to share from.
        source: ObjectId,
        /// From [`Catalog::new_object_id`].
        id: ObjectId,
        /// What the new object is.
        kind: ObjectKind,
    },
    /// Deletes the object; its space comes back in the background.
    DeleteObject {
        /// Object to delete.
        id: ObjectId,
    },
    /// Sets the size, a multiple of 512. What lies beyond a smaller size is deallocated.
    Resize {
        /// Volume to resize.
        id: ObjectId,
        /// New size.
        size_bytes: u64,
    },
    /// Switches the volume's write cache. Turning it off makes everything acknowledged durable first.
    SetWriteCache {
        /// Volume to change.
        id: ObjectId,
        /// True: acknowledge from memory (WCE=1). False: acknowledge when durable (WCE=0).
        enabled: bool,
    },
    /// Stores a document under a key (both opaque to the pool). At most 64 KiB.
    PutDocument {
        /// Up to 255 bytes.
        key: String,
        /// Replaces what was there.
        value: Bytes,
    },
    /// Removes a document; absent is fine.
    DeleteDocument {
        /// The key.
        key: String,
    },
}

/// What the pool knows of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Identity.
    pub id: ObjectId,
    /// Volume or snapshot.
    pub kind: ObjectKind,
    /// The object this one was cloned from, if any. It may be deleted since.
    pub parent: Option<ObjectId>,
    /// Size the host sees.
    pub size_bytes: u64,
    /// Bytes with stored content, in units of 4 KiB.
    pub mapped_bytes: u64,
    /// Write cache on.
    pub write_cache: bool,
}

/// Space of the pool. `size_bytes = used_bytes + free_bytes`; `metadata_bytes` is part of `used_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSpace {
    /// Whole pool file or device.
    pub size_bytes: u64,
    /// Everything that cannot take new data: data, metadata, log, superblocks, and blocks freed but awaiting a checkpoint.
    pub used_bytes: u64,
    /// What new data can use.
    pub free_bytes: u64,
    /// Log, superblocks, space map and tree pages.
    pub metadata_bytes: u64,
}

/// Why a catalog or pool operation failed. Nothing was changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PoolError {
    /// No such object.
    #[error("object {0} does not exist")]
    NoSuchObject(u64),
    /// The object exists already.
    #[error("object {0} exists already")]
    ObjectExists(u64),
    /// A size that is zero, not a multiple of 512, or above the limit of 16 TiB.
    #[error("{size_bytes} bytes is not a valid size: sizes are multiples of 512 from 512 to {max_bytes}")]
    BadSize {
        /// Size asked for.
        size_bytes: u64,
        /// Largest size.
        max_bytes: u64,
    },
    /// A key or document above its limit.
    #[error("document {key:?} of {bytes} bytes is above the limit")]
    BadDocument {
        /// The key.
        key: String,
        /// Size of its value.
        bytes: usize,
    },
    /// No space for the metadata this change needs.
    #[error("the pool is full")]
    PoolFull,
    /// The pool stopped after an error of its medium.
    #[error("the pool stopped after a media error: {0}")]
    Stopped(String),
    /// Stored metadata or data failed its checksum or contradicts itself.
    #[error("damaged: {0}")]
    Damaged(String),
}

/// The pool's catalog, as `control` uses it. All calls come from the thread that owns the pool.
pub trait Catalog {
    /// A fresh object id, never used before in this pool.
    fn new_object_id(&self) -> ObjectId;
    /// Applies the changes atomically, in order; durable on return.
    async fn commit(&self, changes: Vec<CatalogChange>) -> Result<(), PoolError>;
    /// One object.
    fn object(&self, id: ObjectId) -> Option<ObjectInfo>;
    /// Every object, by id.
    fn objects(&self) -> Vec<ObjectInfo>;
    /// One document.
    fn document(&self, key: &str) -> Option<Bytes>;
    /// Every document whose key starts with `prefix`, by key.
    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)>;
    /// Bytes that deleting the object would free, in units of 4 KiB. Walks the object's own part of its map.
    async fn unique_bytes(&self, id: ObjectId) -> Result<u64, PoolError>;
    /// Space of the pool.
    fn space(&self) -> PoolSpace;
}
