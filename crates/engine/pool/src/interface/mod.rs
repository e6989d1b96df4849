//! What the rest of the array asks of the pool besides block I/O: objects, documents and space. `control` is written against the
//! [`Catalog`] trait, so that it can be tested over a map in memory.

pub(crate) mod check;
pub(crate) mod operation;

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
    /// Ranges of another object, as they were at one instant, kept for a while by whoever runs the pool. Read-only for everybody else. What
    /// is there when a pool is opened has no owner any more.
    Capture,
}

/// The promise that writes to a volume never fail for want of space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// What a snapshot or clone shares with the volume has to be stored once more when the volume overwrites it. This is the share of it, 0 to
    /// 100 percent, for which space is kept free; below 100, writing where content was shared may fail.
    pub overwrite_percent: u8,
}

/// How a pool is made larger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The last file or device of the pool has this many bytes from now on. A file is extended, a device must have grown already.
    Size(u64),
    /// One more block device, or file, which must be blank. It becomes part of the pool for good.
    Device(std::path::PathBuf),
}

/// A block of the pool, for messages and for asking again. Opaque outside the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u64);

/// A place of an object where content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The object.
    pub object: ObjectId,
    /// Start within the object in bytes, a multiple of 4 096.
    pub offset_bytes: u64,
    /// The block that holds the 4 KiB from there on.
    pub block: BlockId,
}

/// One step of a scan of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanStep {
    /// Where the next step begins, in bytes; `None` at the end of the object.
    pub next: Option<u64>,
    /// Bytes of stored content that this step looked at. What it skipped, because it is not mapped or was looked at through another object, is
    /// not in it.
    pub scanned_bytes: u64,
    /// Bytes that were deallocated, by a scan that does so.
    pub deallocated_bytes: u64,
    /// Content that fails its checksum or cannot be read.
    pub bad: Vec<Place>,
    /// Map pages that fail their checksum or cannot be read: what lies below them is lost to this object. A sentence each.
    pub damaged: Vec<String>,
}

/// Something found to be wrong on the medium while the pool was in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// Content of an object fails its checksum or cannot be read.
    BadBlock(Place),
    /// Metadata fails its checksum or cannot be read: a sentence.
    Metadata(String),
}

/// One step of a check of the whole pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckStep {
    /// Work done so far, of `total`, in any unit.
    pub done: u64,
    /// Work that is expected in all.
    pub total: u64,
    /// The result, when this was the last step.
    pub report: Option<check::CheckReport>,
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
    /// A new, empty capture, for [`crate::Operation::Capture`]. `size_bytes` is a multiple of 512.
    CreateCapture {
        /// From [`Catalog::new_object_id`].
        id: ObjectId,
        /// Size of the object that it is to take ranges of.
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
    /// Sets the size, a multiple of 512. What lies beyond a smaller size is deallocated. A volume created in the same
    /// list may grow, and not shrink.
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
    /// Promises that writes to the volume never fail for want of space, or ends the promise.
    SetReservation {
        /// Volume to change; it may be created in the same list.
        id: ObjectId,
        /// `None`: a thin volume.
        reservation: Option<Reservation>,
    },
    /// Switches the detection of zeros in written data. With it, blocks of zeros are deallocated instead of stored.
    SetZeroDetection {
        /// Volume to change; it may be created in the same list.
        id: ObjectId,
        /// On when a volume is created.
        enabled: bool,
    },
    /// The volume takes over content and size of another object, usually its snapshot. What it had is gone.
    Rollback {
        /// Volume to change.
        id: ObjectId,
        /// Object whose content it shares from then on.
        source: ObjectId,
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
    /// Volume, snapshot or capture.
    pub kind: ObjectKind,
    /// The object this one was cloned from, if any. It may be deleted since.
    pub parent: Option<ObjectId>,
    /// Size the host sees.
    pub size_bytes: u64,
    /// Bytes with stored content, in units of 4 KiB.
    pub mapped_bytes: u64,
    /// Write cache on.
    pub write_cache: bool,
    /// Zeros in written data are detected.
    pub zero_detection: bool,
    /// The volume's reservation.
    pub reservation: Option<Reservation>,
    /// Bytes that are kept free for the volume's reservation: what it may still have to allocate, at most.
    pub promised_bytes: u64,
}

/// Space of the pool. `size_bytes = used_bytes + free_bytes`; `metadata_bytes` is part of `used_bytes`, `promised_bytes` part of `free_bytes`.
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
    /// Kept free for reserved volumes: nobody else can use it.
    pub promised_bytes: u64,
    /// Used, but on its way to become free: what deleted and unmapped data still takes, at most.
    pub reclaimable_bytes: u64,
    /// The file system or thin device below the pool is full: nothing new can be stored until it has room.
    pub starved: bool,
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
    /// A reservation, or a snapshot or clone of a reserved volume, needs more space than nobody has been promised.
    #[error("the reservation needs {needed_bytes} bytes that nobody else was promised, and {available_bytes} are left")]
    NoRoomForReservation {
        /// Bytes that would have to be kept free in addition.
        needed_bytes: u64,
        /// Bytes that are free and not promised.
        available_bytes: u64,
    },
    /// A share of more than everything.
    #[error("an overwrite reserve of {percent} % is not possible: 0 to 100")]
    BadReservation {
        /// What was asked for.
        percent: u8,
    },
    /// The pool cannot be made larger that way; a sentence that says why.
    #[error("{0}")]
    CannotGrow(String),
    /// The pool has no time or space for it now; a sentence that says why.
    #[error("{0}")]
    Busy(String),
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
    /// Bytes that deleting all these objects together would free, in units of 4 KiB. Walks their own parts of their maps. Exact when nothing
    /// changes them meanwhile.
    async fn unique_bytes(&self, ids: &[ObjectId]) -> Result<u64, PoolError>;
    /// Deallocates blocks of zeros that are stored in the object: one step of about a mebibyte, from `offset_bytes` on.
    async fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> Result<ScanStep, PoolError>;
    /// Reads and verifies content of the object from the medium: one step of about a mebibyte, from `offset_bytes` on. With `anew` false, content
    /// that this pass has verified through another object is mostly skipped; true begins a pass.
    async fn verify(&self, id: ObjectId, offset_bytes: u64, anew: bool) -> Result<ScanStep, PoolError>;
    /// Every place of every object that is stored in one of these blocks. Walks all maps.
    async fn places_of(&self, blocks: Vec<BlockId>) -> Result<Vec<Place>, PoolError>;
    /// Checks map, reference counts and counters while the pool is in use: one step. The first call, and the first after a result, begins anew.
    /// A check that is not carried on for a while must be ended with [`Catalog::abandon_check`], since it holds freed space back.
    async fn check_step(&self) -> Result<CheckStep, PoolError>;
    /// Ends a check before its result.
    fn abandon_check(&self);
    /// Counts anew how much of a reserved volume is shared, so that space which is no longer needed for its promise becomes free for others.
    async fn recount(&self, id: ObjectId) -> Result<(), PoolError>;
    /// Makes the pool larger; durable on return.
    async fn grow(&self, growth: Growth) -> Result<(), PoolError>;
    /// What was found to be wrong since the last call.
    fn take_incidents(&self) -> Vec<Incident>;
    /// Space of the pool.
    fn space(&self) -> PoolSpace;
}
