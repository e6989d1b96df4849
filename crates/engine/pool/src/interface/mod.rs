//! Interface of the pool apart from block I/O: objects, documents and space. `control` uses the
//! [`Catalog`] trait, so that it can be tested over a map in memory.

pub(crate) mod allotment;
pub(crate) mod check;
pub(crate) mod difference;
pub(crate) mod operation;
pub(crate) mod range;

use self::operation::Reshare;
use bytes::Bytes;
pub use media::Growth;
use std::fmt;
use thiserror::Error;

/// Identity of an object (a volume or snapshot). Never reused within a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ObjectId(pub u64);

impl ObjectId {
    /// Id of no object: of the owner of detached sub-trees, and of the parent of an object that is no
    /// clone.
    pub(crate) const NONE: Self = Self(0);

    /// Smallest id above this one.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Writable volume.
    Volume,
    /// Read-only copy of a volume at one instant.
    Snapshot,
    /// Ranges of another object at one instant, kept for a while by the process that runs the pool.
    /// Read-only for all users. Captures found when a pool is opened have no owner.
    Capture,
}

/// Full hour of time, counted from 1970-01-01T00:00Z. Locks of snapshots begin and end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour(u32);

impl Hour {
    /// Last hour that can be stored, in the year 3883.
    pub const MAX: Self = Self((1 << 24) - 1);

    /// Hour of this number; `None` above [`Self::MAX`].
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::MAX.0 { Some(Self(number)) } else { None }
    }

    /// Number of the hour.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Promise that writes to a volume never fail for lack of space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Percentage, 0 to 100, of the content shared with snapshots and clones for which space is
    /// kept free, because overwriting it stores it once more. Below 100, overwriting shared content
    /// may fail.
    pub overwrite_percent: u8,
}

/// Block of the pool, for messages and queries. Opaque outside the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u64);

/// Place of an object where content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Object that has the content.
    pub object: ObjectId,
    /// Start within the object in bytes, a multiple of 4 096.
    pub offset_bytes: u64,
    /// Block that holds the 4 KiB from there on.
    pub block: BlockId,
}

/// Result of one step of a scan of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanStep {
    /// Start of the next step in bytes; `None` at the end of the object.
    pub next: Option<u64>,
    /// Bytes of stored content processed by this step. Skipped content, unmapped or already
    /// processed through another object, is not included.
    pub scanned_bytes: u64,
    /// Bytes deallocated, by a scan that deallocates.
    pub deallocated_bytes: u64,
    /// Content that fails its checksum or cannot be read.
    pub bad: Vec<Place>,
    /// Map pages that fail their checksum or cannot be read; the content below them is lost to this
    /// object. A sentence each.
    pub damaged: Vec<String>,
}

/// Result of one step that shares equal blocks of a volume with another object. All numbers count the volume, in units
/// of 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReshareStep {
    /// Start of the next step in bytes; `None` at the end of the volume.
    pub next: Option<u64>,
    /// Bytes of stored content that the step has considered.
    pub scanned_bytes: u64,
    /// Bytes whose content was compared, because the checksums are equal.
    pub compared_bytes: u64,
    /// Bytes that are shared from now on; of a step that only compares, those that would be.
    pub shared_bytes: u64,
    /// Bytes of these whose old place nothing else used, so that it becomes free. The others are kept by snapshots or
    /// clones of the volume.
    pub freed_bytes: u64,
    /// Bytes that were shared already.
    pub already_bytes: u64,
    /// Bytes whose content is different although the checksums are equal.
    pub different_bytes: u64,
    /// Bytes that one of the two objects cannot read; they stay as they are.
    pub unreadable_bytes: u64,
    /// Map pages that fail their checksum or cannot be read. A sentence each.
    pub damaged: Vec<String>,
}

/// Damage of the medium found while the pool was in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// Content of an object fails its checksum or cannot be read.
    BadBlock(Place),
    /// Metadata fails its checksum or cannot be read; a sentence.
    Metadata(String),
}

/// Result of one step of a check of the whole pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckStep {
    /// Work done so far, out of `total`, in arbitrary units.
    pub done: u64,
    /// Total work expected.
    pub total: u64,
    /// Report, after the last step.
    pub report: Option<check::CheckReport>,
}

/// One change of the catalog. A list of them is applied atomically, and is durable before the
/// reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogChange {
    /// Creates an empty volume, or an address space. `size_bytes` is a multiple of 512 of at most
    /// [`MAX_VOLUME_BYTES`](crate::MAX_VOLUME_BYTES), or [`ADDRESS_SPACE_BYTES`](crate::ADDRESS_SPACE_BYTES).
    CreateVolume {
        /// Id from [`Catalog::new_object_id`].
        id: ObjectId,
        /// Size that the host sees.
        size_bytes: u64,
    },
    /// Creates an empty capture, for [`crate::Operation::Capture`]. `size_bytes` is a multiple of
    /// 512.
    CreateCapture {
        /// Id from [`Catalog::new_object_id`].
        id: ObjectId,
        /// Size of the object whose ranges it takes.
        size_bytes: u64,
    },
    /// Creates an object that shares all content of `source`. The cost does not depend on the size.
    CloneObject {
        /// Object to share from.
        source: ObjectId,
        /// Id from [`Catalog::new_object_id`].
        id: ObjectId,
        /// Kind of the new object.
        kind: ObjectKind,
    },
    /// Deletes the object, which is not locked; its space is freed in the background.
    DeleteObject {
        /// Object to delete.
        id: ObjectId,
    },
    /// Sets the size, a multiple of 512; a smaller size is a multiple of 4096. Blocks beyond a smaller
    /// size are deallocated. At most one per object in a list; an object created in the same list may
    /// grow, and not shrink.
    Resize {
        /// Volume to resize.
        id: ObjectId,
        /// New size.
        size_bytes: u64,
    },
    /// Switches the volume's write cache. Switching it off first makes all acknowledged writes
    /// durable.
    SetWriteCache {
        /// Volume to change.
        id: ObjectId,
        /// True: acknowledge from memory (WCE=1). False: acknowledge when durable (WCE=0).
        enabled: bool,
    },
    /// Starts or ends the promise that writes to the volume never fail for lack of space.
    SetReservation {
        /// Volume to change; it may be created in the same list.
        id: ObjectId,
        /// `None`: a thin volume.
        reservation: Option<Reservation>,
    },
    /// Limits the space of an address space, or ends the limit. Transactions that would make
    /// [`ObjectInfo::used_bytes`] grow beyond it are refused; a ceiling below what is used is valid.
    SetCeiling {
        /// Address space to change; it may be created in the same list.
        id: ObjectId,
        /// Multiple of [`CEILING_UNIT_BYTES`](crate::CEILING_UNIT_BYTES), at most
        /// [`MAX_CEILING_BYTES`](crate::MAX_CEILING_BYTES), and not 0. `None`: the pool is the limit.
        ceiling_bytes: Option<u64>,
    },
    /// Switches the detection of zeros in written data. With it, blocks of zeros are deallocated
    /// instead of stored.
    SetZeroDetection {
        /// Volume to change; it may be created in the same list.
        id: ObjectId,
        /// New state; true for a new volume.
        enabled: bool,
    },
    /// Replaces content and size of the volume by those of another object, usually its snapshot.
    /// Its old content is lost.
    Rollback {
        /// Volume to change.
        id: ObjectId,
        /// Object whose content it shares from then on.
        source: ObjectId,
    },
    /// Locks a snapshot: until it is unlocked, it is neither deleted nor changed. The end of a lock only
    /// becomes later.
    Lock {
        /// Snapshot to lock; it may be created in the same list.
        id: ObjectId,
        /// First hour at which it can be unlocked.
        until: Hour,
    },
    /// Ends a lock whose hour has come. Without effect on an object that is not locked.
    Unlock {
        /// Object to unlock.
        id: ObjectId,
        /// Present hour, by a clock that the caller answers for.
        now: Hour,
    },
    /// Makes a volume a replica, or ends that. Hosts cannot change the content of a replica; operations that its
    /// replication group submits as such can.
    SetReplica {
        /// Volume to change; it may be created in the same list.
        id: ObjectId,
        /// True: a replica.
        enabled: bool,
    },
    /// Stores a document under a key (both opaque to the pool). At most 64 KiB.
    PutDocument {
        /// Key, at most 255 bytes.
        key: String,
        /// Value; replaces the old one.
        value: Bytes,
    },
    /// Removes a document, if it exists.
    DeleteDocument {
        /// Key of the document.
        key: String,
    },
}

impl CatalogChange {
    /// Changes that make a capture the new volume `id` of `size_bytes`, which is at most the size of the capture.
    /// The capture has no content behind it.
    pub const fn capture_becomes_volume(capture: ObjectId, id: ObjectId, size_bytes: u64) -> [Self; 3] {
        [
            Self::Resize { id: capture, size_bytes },
            Self::CloneObject { source: capture, id, kind: ObjectKind::Volume },
            Self::DeleteObject { id: capture },
        ]
    }
}

/// Properties of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Identity.
    pub id: ObjectId,
    /// Kind: volume, snapshot or capture.
    pub kind: ObjectKind,
    /// Object that this one was cloned from, if any. It may be deleted since.
    pub parent: Option<ObjectId>,
    /// Size that the host sees.
    pub size_bytes: u64,
    /// Bytes with stored content, in units of 4 KiB.
    pub mapped_bytes: u64,
    /// True if the write cache is on.
    pub write_cache: bool,
    /// True if zeros in written data are detected.
    pub zero_detection: bool,
    /// Reservation of the volume.
    pub reservation: Option<Reservation>,
    /// Bytes kept free for the volume's reservation: an upper bound of what it may still allocate.
    pub promised_bytes: u64,
    /// Ceiling of an address space.
    pub ceiling_bytes: Option<u64>,
    /// First hour at which a locked snapshot can be unlocked.
    pub locked_until: Option<Hour>,
    /// True for a replica, which hosts cannot change.
    pub is_replica: bool,
}

impl ObjectInfo {
    /// Bytes that count against the ceiling: those that are mapped, and those that are promised.
    pub fn used_bytes(&self) -> u64 {
        self.mapped_bytes + self.promised_bytes
    }

    /// True for an address space, or a snapshot or capture of one. Its size says nothing about the space
    /// that it may take, and is part of no sum of sizes.
    pub fn is_address_space(&self) -> bool {
        self.size_bytes == operation::ADDRESS_SPACE_BYTES
    }
}

/// State of the pool's content, objects and documents, for comparison with an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Number of the next record of the log; each change appends one.
    pub next_record: u64,
    /// [`PoolSpace::reclaimable_bytes`]; space is freed without a record.
    pub reclaimable_bytes: u64,
}

/// Space of the pool. `size_bytes = used_bytes + free_bytes`; `metadata_bytes` is part of `used_bytes`,
/// `promised_bytes` part of `free_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSpace {
    /// Size of the whole pool.
    pub size_bytes: u64,
    /// Bytes that are in use or kept back: data, map pages, log, superblocks, and the reserves of the
    /// next checkpoint. Freed blocks are not among them, from the moment that they are freed.
    pub used_bytes: u64,
    /// Bytes that can take new data, at the latest after the next checkpoint.
    pub free_bytes: u64,
    /// Bytes of log, superblocks, space map, map pages, and all reserves.
    pub metadata_bytes: u64,
    /// Bytes kept free for reserved volumes.
    pub promised_bytes: u64,
    /// Upper bound of the space of deleted and unmapped data that cannot take new data yet: trees
    /// whose references are still counted (part of `used_bytes`), and freed blocks that await a
    /// checkpoint (part of `free_bytes`).
    pub reclaimable_bytes: u64,
    /// True if the file system or thin device below the pool is full: no new data can be stored
    /// until it has room.
    pub full_below: bool,
}

impl PoolSpace {
    /// Bytes that new data of an object can take, if `promised_bytes` of the promised bytes are its own:
    /// space promised to others is not available for it.
    pub fn available_bytes(&self, promised_bytes: u64) -> u64 {
        let free = if self.full_below { 0 } else { self.free_bytes };
        free.saturating_sub(self.promised_bytes.saturating_sub(promised_bytes))
    }
}

/// Error of a catalog or pool operation. After [`Self::Stopped`] the change may have taken effect,
/// and may be there after a restart; a growth that answers [`Self::Busy`] has begun and completes
/// later. With any other error nothing was changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PoolError {
    /// The object does not exist.
    #[error("object {0} does not exist")]
    NoSuchObject(ObjectId),
    /// The object already exists.
    #[error("object {0} exists already")]
    ObjectExists(ObjectId),
    /// The size is zero, not a multiple of 512, or above the limit of 256 TiB.
    #[error("{size_bytes} bytes is not a valid size: sizes are multiples of 512 from 512 to {max_bytes}")]
    BadSize {
        /// Requested size.
        size_bytes: u64,
        /// Largest valid size.
        max_bytes: u64,
    },
    /// The key or the document exceeds its limit.
    #[error("document {key:?} of {bytes} bytes is above the limit")]
    BadDocument {
        /// Key of the document.
        key: String,
        /// Size of its value in bytes.
        bytes: usize,
    },
    /// No space for the metadata of this change.
    #[error("the pool is full")]
    PoolFull,
    /// A reservation, or a snapshot or clone of a reserved volume, needs more unpromised space than
    /// is left.
    #[error("the reservation needs {needed_bytes} bytes of unpromised space, and {available_bytes} are left")]
    NoRoomForReservation {
        /// Further bytes that would have to be kept free.
        needed_bytes: u64,
        /// Bytes that are free and not promised.
        available_bytes: u64,
    },
    /// An address space would use more than its ceiling allows.
    #[error("the change needs {needed_bytes} bytes more, and the ceiling leaves {available_bytes}")]
    AboveCeiling {
        /// Further bytes that would be mapped or promised.
        needed_bytes: u64,
        /// Bytes below the ceiling that are neither mapped nor promised.
        available_bytes: u64,
    },
    /// A ceiling is for an object that is no address space, or has a size that is not possible.
    #[error(
        "a ceiling of {ceiling_bytes} bytes is not possible: multiples of {unit_bytes} up to {max_bytes}, for address spaces"
    )]
    BadCeiling {
        /// Requested ceiling; 0 if none was requested.
        ceiling_bytes: u64,
        /// Unit of ceilings.
        unit_bytes: u64,
        /// Largest ceiling.
        max_bytes: u64,
    },
    /// The snapshot is locked: it can neither be deleted nor changed, nor its lock end earlier.
    #[error("object {object} is locked until hour {until}")]
    Locked {
        /// The snapshot.
        object: ObjectId,
        /// First hour at which it can be unlocked.
        until: Hour,
    },
    /// The object is no snapshot: only snapshots can be locked, and only snapshots and captures can be compared.
    #[error("object {0} is no snapshot")]
    NoSnapshot(ObjectId),
    /// Only volumes can be replicas.
    #[error("object {0} is no volume")]
    NoVolume(ObjectId),
    /// An object that a difference compares was deleted, or got other content or another size: a new difference has to
    /// begin.
    #[error("object {0} was deleted or replaced while it was compared")]
    DifferenceEnded(ObjectId),
    /// The percentage is above 100.
    #[error("an overwrite reserve of {percent} % is not possible: 0 to 100")]
    BadReservation {
        /// Requested percentage.
        percent: u8,
    },
    /// The pool cannot be enlarged in that way; a sentence with the reason.
    #[error("{0}")]
    CannotGrow(String),
    /// The pool has no time or space for the operation now; a sentence with the reason.
    #[error("{0}")]
    Busy(String),
    /// The pool stopped after an error of its medium.
    #[error("the pool stopped after a media error: {0}")]
    Stopped(String),
    /// Stored metadata or data failed its checksum or contradicts itself.
    #[error("damaged: {0}")]
    Damaged(String),
}

/// Catalog of the pool, as `control` uses it. All calls come from the thread that owns the pool.
pub trait Catalog {
    /// Returns an object id that was never used in this pool.
    fn new_object_id(&self) -> ObjectId;
    /// Applies the changes atomically, in order; durable on return.
    async fn commit(&self, changes: Vec<CatalogChange>) -> Result<(), PoolError>;
    /// Returns one object.
    fn object(&self, id: ObjectId) -> Option<ObjectInfo>;
    /// Returns at most `most` objects whose id is `from` or greater, by id. A pool may have ten
    /// million objects, so that a list of all would not be small.
    fn objects_from(&self, from: ObjectId, most: usize) -> Vec<ObjectInfo>;
    /// Returns all captures, by id.
    fn captures(&self) -> Vec<ObjectId>;
    /// Largest id that [`Catalog::new_object_id`] has returned, in this run or an earlier one. No
    /// object has a greater id.
    fn last_object_id(&self) -> ObjectId;
    /// Returns one document.
    fn document(&self, key: &str) -> Option<Bytes>;
    /// Returns all documents whose key starts with `prefix`, by key.
    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)>;
    /// Bytes that deleting all these objects together would free, in units of 4 KiB. Walks the
    /// parts of their maps that they do not share. Exact if they do not change meanwhile.
    async fn unique_bytes(&self, ids: &[ObjectId]) -> Result<u64, PoolError>;
    /// Deallocates stored blocks of zeros in the object: one step of about a mebibyte, from
    /// `offset_bytes` on.
    async fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> Result<ScanStep, PoolError>;
    /// Shares equal blocks of a volume with another object: one step of at most a mebibyte.
    async fn reshare(&self, reshare: Reshare) -> Result<ReshareStep, PoolError>;
    /// Reads and verifies content of the object from the medium: one step of about a mebibyte, from
    /// `offset_bytes` on. With `anew` false, content that this pass has verified through another
    /// object is mostly skipped; true starts a pass.
    async fn verify(&self, id: ObjectId, offset_bytes: u64, anew: bool) -> Result<ScanStep, PoolError>;
    /// Returns every place of every object that is stored in one of these blocks. Walks all maps.
    async fn places_of(&self, blocks: Vec<BlockId>) -> Result<Vec<Place>, PoolError>;
    /// Executes one step of a check of map, reference counts and counters of the pool in use. The
    /// first call, and the first after a result, starts a check. A check that pauses must be ended
    /// with [`Catalog::abandon_check`], since it holds freed space back.
    async fn check_step(&self) -> Result<CheckStep, PoolError>;
    /// Ends a check before its result.
    fn abandon_check(&self);
    /// Recounts the shared blocks of a reserved volume, so that space that its promise no longer
    /// needs becomes free for others.
    async fn recount(&self, id: ObjectId) -> Result<(), PoolError>;
    /// Enlarges the pool; durable on return. [`PoolError::Busy`]: the growth has begun and cannot be
    /// cancelled, and completes when the file system below has room.
    async fn grow(&self, growth: Growth) -> Result<(), PoolError>;
    /// Takes the incidents since the last call.
    fn take_incidents(&self) -> Vec<Incident>;
    /// Takes at most `most` objects that were created, deleted or changed in size, settings,
    /// mapping or promise since this last returned them.
    fn take_changed(&self, most: usize) -> Vec<ObjectId>;
    /// Revision of the pool; differs after each change of content, objects and documents, and while
    /// space is being freed.
    fn changes(&self) -> Revision;
    /// Space of the pool.
    fn space(&self) -> PoolSpace;
    /// Makes or withdraws an offer to free space, by deleting objects, when hosts need it. While it
    /// stands, an operation of a host that finds no space waits. It fails once the offer is withdrawn.
    fn offer_space(&self, is_made: bool);
    /// True if an operation of a host has waited for the offer since the last call.
    fn take_space_wanted(&self) -> bool;
}
