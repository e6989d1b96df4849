//! The superblock: identity, geometry and root of a pool, in four copies of one 4 KiB block each.
//!
//! The layout of a device, in blocks of 4 KiB:
//!
//! ```text
//! 0, 1           superblock copies 0 and 1
//! 256 (1 MiB)    log ring
//! ring end       superblock copy 2
//! data start     first multiple of 2 048 blocks (8 MiB) after copy 2: the pool's segments
//! last block     superblock copy 3
//! ```
//!
//! One copy, in bytes; numbers are little-endian, reserved bytes are zero:
//!
//! ```text
//! 0    magic "WINDLASS"                   56   device size in blocks: u64
//! 8    format version: u32                64   first block of the log ring: u64
//! 12   copy index, 0 to 3: u32            72   blocks of the log ring: u64
//! 16   incompatible features: u64         80   root version: u64
//! 24   read-only compatible: u64          88   root length in bytes: u32
//! 32   compatible features: u64           92   bytes of a block, 4 096: u32
//! 40   pool UUID: 16 bytes                96   members, 0 when there is only one: u32
//! 104  16 times UUID (16 bytes) and blocks (u64) of a member
//! 512  root: 3 072 bytes                  3584 reserved: 504 bytes
//! 4088 CRC-64/NVME of bytes 0 to 4 087: u64
//! ```
//!
//! The root in force is the one of the highest version on which two intact copies agree. A swap
//! first overwrites two copies whose loss leaves two others with the root in force, then those two,
//! with a flush between; so at every instant two copies agree on the old or the new root. Copies
//! are compared by content, not by version alone: a swap that a crash interrupted may have left one
//! copy with the same version and another root.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::growth::{MAX_MEMBERS, Member};
use crate::{BLOCK_BYTES, Block, MAX_ROOT_BYTES, MediaError};

/// First bytes of every superblock copy.
const MAGIC: [u8; 8] = *b"WINDLASS";
/// Format version that this build writes and reads.
pub(crate) const FORMAT_VERSION: u32 = 1;
/// Number of copies.
pub(crate) const COPIES: usize = 4;
/// First block of the log ring.
pub(crate) const LOG_FIRST_BLOCK: u64 = 256;
/// Alignment of the data area in blocks (8 MiB), the size of a segment.
const SEGMENT_BLOCKS: u64 = 2048;
/// Smallest log ring in blocks (64 KiB).
pub(crate) const MIN_LOG_BLOCKS: u64 = 16;
/// Largest device in blocks: addresses in the pool's maps have 40 bits.
const MAX_BLOCKS: u64 = 1 << 40;

/// The pool has several members.
pub(crate) const FEATURE_MEMBERS: u64 = 1;
/// The pool has, or has had, an object whose map has more than four levels: a large volume or an address
/// space.
pub const FEATURE_WIDE: u64 = 1 << 1;
/// The pool's documents stand in a paged index. docs/on-disk-format.md is the register of bits.
pub const FEATURE_INDEX: u64 = 1 << 9;
/// The log may hold patches: records of some bytes of a block.
pub const FEATURE_PATCHES: u64 = 1 << 10;
/// The pool has, or has had, allotments: space promised to ranges of address spaces.
pub const FEATURE_ALLOTMENTS: u64 = 1 << 11;
/// The log may hold write records whose content replay has to verify.
pub const FEATURE_UNCONFIRMED: u64 = 1 << 12;
/// The pool has, or has had, an address space with a ceiling.
pub const FEATURE_CEILING: u64 = 1 << 13;
/// The pool has, or has had, a locked snapshot.
pub const FEATURE_LOCKS: u64 = 1 << 14;
/// The pool has, or has had, a replica: a volume that its replication group alone changes.
pub const FEATURE_REPLICAS: u64 = 1 << 15;
/// Incompatible features that this build supports.
const KNOWN_INCOMPATIBLE: u64 = FEATURE_MEMBERS
    | FEATURE_WIDE
    | FEATURE_INDEX
    | FEATURE_PATCHES
    | FEATURE_ALLOTMENTS
    | FEATURE_UNCONFIRMED
    | FEATURE_CEILING
    | FEATURE_LOCKS
    | FEATURE_REPLICAS;
/// Features that this build may ignore while it does not write: none yet.
const KNOWN_READ_ONLY_COMPATIBLE: u64 = 0;

/// One copy on disk. 4 096 bytes, little-endian. Magic, `format_version` and `checksum` keep their
/// place and meaning in every future version, so that any build can distinguish a newer pool from a
/// damaged one.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawSuperblock {
    magic: [u8; 8],
    format_version: U32,
    /// Index of this copy, 0 to 3, so that a misdirected write is noticed.
    copy_index: U32,
    /// Features without whose support a build must not open the pool.
    incompatible: U64,
    /// Features without whose support a build must not write to the pool.
    read_only_compatible: U64,
    /// Features that a build may ignore.
    compatible: U64,
    pool_uuid: [u8; 16],
    /// Size of the device.
    block_count: U64,
    log_first_block: U64,
    log_blocks: U64,
    /// Version of the root; each swap adds 1.
    root_version: U64,
    root_length: U32,
    /// 4 096.
    block_bytes: U32,
    /// 0 if the pool has one file or device.
    member_count: U32,
    reserved_before_members: [u8; 4],
    members: [RawMember; MAX_MEMBERS],
    reserved: [u8; 24],
    root: [u8; MAX_ROOT_BYTES],
    reserved_after_root: [u8; 504],
    /// CRC-64/NVME of all bytes before.
    checksum: U64,
}

/// Field offsets as in docs/on-disk-format.md.
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(RawSuperblock, magic) == 0);
    assert!(offset_of!(RawSuperblock, format_version) == 8);
    assert!(offset_of!(RawSuperblock, copy_index) == 12);
    assert!(offset_of!(RawSuperblock, incompatible) == 16);
    assert!(offset_of!(RawSuperblock, read_only_compatible) == 24);
    assert!(offset_of!(RawSuperblock, compatible) == 32);
    assert!(offset_of!(RawSuperblock, pool_uuid) == 40);
    assert!(offset_of!(RawSuperblock, block_count) == 56);
    assert!(offset_of!(RawSuperblock, log_first_block) == 64);
    assert!(offset_of!(RawSuperblock, log_blocks) == 72);
    assert!(offset_of!(RawSuperblock, root_version) == 80);
    assert!(offset_of!(RawSuperblock, root_length) == 88);
    assert!(offset_of!(RawSuperblock, block_bytes) == 92);
    assert!(offset_of!(RawSuperblock, member_count) == 96);
    assert!(offset_of!(RawSuperblock, members) == 104);
    assert!(offset_of!(RawSuperblock, root) == 512);
    assert!(offset_of!(RawSuperblock, checksum) == 4088);
};
const _: () = assert!(size_of::<RawSuperblock>() == BLOCK_BYTES);

/// One file or device of several. 24 bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawMember {
    uuid: [u8; 16],
    blocks: U64,
}
const _: () = assert!(size_of::<RawMember>() == 24);
/// Bytes under the checksum.
const CHECKED_BYTES: usize = BLOCK_BYTES - 8;

/// Layout of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Size of the device in blocks.
    pub(crate) block_count: u64,
    /// First block of the log ring.
    pub(crate) log_first_block: u64,
    /// Blocks of the log ring.
    pub(crate) log_blocks: u64,
}

impl Geometry {
    /// Geometry of a new pool; the error is a sentence for users.
    pub(crate) fn new(block_count: u64, log_bytes: u64) -> Result<Self, String> {
        let block_bytes = BLOCK_BYTES as u64;
        if !log_bytes.is_multiple_of(block_bytes) || log_bytes / block_bytes < MIN_LOG_BLOCKS {
            return Err(format!(
                "{log_bytes} bytes is not a valid log size: it is a multiple of {block_bytes}, at least {}",
                MIN_LOG_BLOCKS * block_bytes
            ));
        }
        let geometry = Self { block_count, log_first_block: LOG_FIRST_BLOCK, log_blocks: log_bytes / block_bytes };
        geometry.check()?;
        Ok(geometry)
    }

    /// Checks that the parts fit the device; after this no arithmetic below overflows.
    fn check(&self) -> Result<(), String> {
        let Self { block_count, log_first_block, log_blocks } = *self;
        if block_count > MAX_BLOCKS {
            return Err(format!("a device of {block_count} blocks is too large: at most {MAX_BLOCKS}"));
        }
        if log_first_block != LOG_FIRST_BLOCK || log_blocks < MIN_LOG_BLOCKS || log_blocks > block_count {
            return Err(format!("a log of {log_blocks} blocks at block {log_first_block} does not fit {block_count}"));
        }
        if self.data_end() <= self.data_start() {
            return Err(format!(
                "a device of {block_count} blocks is too small for a log of {log_blocks} blocks: at least {} are needed",
                self.data_start() + 2
            ));
        }
        Ok(())
    }

    /// Blocks of the copies.
    pub(crate) fn copy_blocks(&self) -> [u64; COPIES] {
        [0, 1, self.log_first_block + self.log_blocks, self.block_count.saturating_sub(1)]
    }

    /// First block of the data area.
    pub(crate) fn data_start(&self) -> u64 {
        (self.log_first_block + self.log_blocks + 1).next_multiple_of(SEGMENT_BLOCKS)
    }

    /// First block after the data area.
    pub(crate) fn data_end(&self) -> u64 {
        self.block_count.saturating_sub(1)
    }
}

/// Content on which the copies of one version agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) uuid: [u8; 16],
    pub(crate) geometry: Geometry,
    pub(crate) incompatible: u64,
    pub(crate) read_only_compatible: u64,
    pub(crate) compatible: u64,
    pub(crate) version: u64,
    pub(crate) root: Vec<u8>,
    /// Members: none, or at least two.
    pub(crate) members: Vec<Member>,
}

impl Contents {
    /// Encodes one copy. The root has at most [`MAX_ROOT_BYTES`] bytes.
    pub(crate) fn encode(&self, copy_index: usize) -> Block {
        let mut root = [0; MAX_ROOT_BYTES];
        root.iter_mut().zip(&self.root).for_each(|(to, from)| *to = *from);
        let mut members = [RawMember { uuid: [0; 16], blocks: U64::new(0) }; MAX_MEMBERS];
        for (to, from) in members.iter_mut().zip(&self.members) {
            *to = RawMember { uuid: from.uuid, blocks: U64::new(from.blocks) };
        }
        let mut raw = RawSuperblock {
            magic: MAGIC,
            format_version: U32::new(FORMAT_VERSION),
            copy_index: U32::new(u32::try_from(copy_index).unwrap_or(u32::MAX)),
            incompatible: U64::new(self.incompatible),
            read_only_compatible: U64::new(self.read_only_compatible),
            compatible: U64::new(self.compatible),
            pool_uuid: self.uuid,
            block_count: U64::new(self.geometry.block_count),
            log_first_block: U64::new(self.geometry.log_first_block),
            log_blocks: U64::new(self.geometry.log_blocks),
            root_version: U64::new(self.version),
            root_length: U32::new(u32::try_from(self.root.len()).unwrap_or(u32::MAX)),
            block_bytes: U32::new(BLOCK_BYTES as u32),
            member_count: U32::new(u32::try_from(self.members.len()).unwrap_or(u32::MAX)),
            reserved_before_members: [0; 4],
            members,
            reserved: [0; 24],
            root,
            reserved_after_root: [0; 504],
            checksum: U64::new(0),
        };
        raw.checksum = U64::new(checksum(&raw));
        Block(zerocopy::transmute!(raw))
    }

    /// Refuses a pool with features that this build must not open, or must not write to.
    pub(crate) fn check_features(&self, read_only: bool) -> Result<(), MediaError> {
        self.check_features_as(KNOWN_INCOMPATIBLE, read_only)
    }

    /// The same, by a build that knows these incompatible features.
    pub(crate) fn check_features_as(&self, known_incompatible: u64, read_only: bool) -> Result<(), MediaError> {
        let unknown = self.incompatible & !known_incompatible;
        if unknown != 0 {
            return Err(MediaError::BadRoot(format!(
                "the pool uses features this release does not know (incompatible feature bits {unknown:#x}): open it with the release that \
                 made it, or a newer one"
            )));
        }
        let unknown = self.read_only_compatible & !KNOWN_READ_ONLY_COMPATIBLE;
        if unknown != 0 && !read_only {
            return Err(MediaError::BadRoot(format!(
                "the pool uses features this release may only read (read-only compatible feature bits {unknown:#x}): open it read-only, or \
                 with the release that created it, or a newer one"
            )));
        }
        Ok(())
    }
}

fn checksum(raw: &RawSuperblock) -> u64 {
    let checked = raw.as_bytes().get(..CHECKED_BYTES).unwrap_or_default();
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, checked)
}

/// State found at the place of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopyState {
    /// Intact, of this copy index.
    Intact(Box<Contents>),
    /// Intact, but of a format that this build does not support.
    Newer {
        /// Its format version.
        format_version: u32,
    },
    /// All zeros.
    Blank,
    /// No superblock: the magic number is missing.
    Foreign,
    /// A superblock with this defect.
    Damaged(String),
    /// A block that cannot be read, for this reason. A later attempt may succeed.
    Unreadable(String),
    /// The place is unknown: no intact copy leads to it.
    PlaceUnknown,
}

impl CopyState {
    /// Examines the block found at the place of copy `copy_index`, which is block `at`.
    pub(crate) fn examine(block: &Block, copy_index: usize, at: u64) -> Self {
        let raw: &RawSuperblock = zerocopy::transmute_ref!(&block.0);
        if block.0.iter().all(|&byte| byte == 0) {
            return Self::Blank;
        }
        if raw.magic != MAGIC {
            return Self::Foreign;
        }
        if raw.checksum.get() != checksum(raw) {
            return Self::Damaged("its checksum does not match".to_owned());
        }
        let format_version = raw.format_version.get();
        if format_version > FORMAT_VERSION {
            return Self::Newer { format_version };
        }
        if format_version != FORMAT_VERSION {
            return Self::Damaged(format!("format version {format_version} does not exist"));
        }
        let found_index = raw.copy_index.get();
        if usize::try_from(found_index) != Ok(copy_index) {
            return Self::Damaged(format!("it is copy {found_index}, written to the wrong place"));
        }
        if usize::try_from(raw.block_bytes.get()) != Ok(BLOCK_BYTES) {
            return Self::Damaged(format!("its block size is {} bytes", raw.block_bytes));
        }
        let geometry = Geometry {
            block_count: raw.block_count.get(),
            log_first_block: raw.log_first_block.get(),
            log_blocks: raw.log_blocks.get(),
        };
        if let Err(reason) = geometry.check() {
            return Self::Damaged(reason);
        }
        if geometry.copy_blocks().get(copy_index) != Some(&at) {
            return Self::Damaged(format!("by its own account it does not belong at block {at}"));
        }
        let root = usize::try_from(raw.root_length.get()).ok().and_then(|length| raw.root.get(..length));
        let Some(root) = root else {
            return Self::Damaged(format!("its root of {} bytes is too long", raw.root_length));
        };
        let incompatible = raw.incompatible.get();
        let members = match incompatible & !KNOWN_INCOMPATIBLE {
            0 => match members_of(raw, incompatible) {
                Ok(members) => members,
                Err(reason) => return Self::Damaged(reason),
            },
            // The list may mean something else with these features; the pool will be refused.
            _ => Vec::new(),
        };
        Self::Intact(Box::new(Contents {
            uuid: raw.pool_uuid,
            geometry,
            incompatible,
            read_only_compatible: raw.read_only_compatible.get(),
            compatible: raw.compatible.get(),
            version: raw.root_version.get(),
            root: root.to_vec(),
            members,
        }))
    }

    /// Contents of an intact copy.
    pub(crate) fn contents(&self) -> Option<&Contents> {
        match self {
            Self::Intact(contents) => Some(contents),
            _ => None,
        }
    }
}

/// Members that a copy names: none, or at least two whose blocks add up to the pool.
fn members_of(raw: &RawSuperblock, incompatible: u64) -> Result<Vec<Member>, String> {
    let count = raw.member_count.get();
    let listed = usize::try_from(count).ok().and_then(|count| raw.members.get(..count));
    let Some(listed) = listed.filter(|listed| listed.len() != 1) else {
        return Err(format!("it names {count} members"));
    };
    if listed.is_empty() == (incompatible & FEATURE_MEMBERS != 0) {
        return Err("its feature bits and its list of members do not fit".to_owned());
    }
    let members: Vec<Member> = listed.iter().map(|raw| Member { uuid: raw.uuid, blocks: raw.blocks.get() }).collect();
    let sum = members.iter().try_fold(0u64, |sum, member| sum.checked_add(member.blocks).filter(|_| member.blocks > 0));
    if !members.is_empty() && sum != Some(raw.block_count.get()) {
        return Err("the blocks of its members do not add up to the pool".to_owned());
    }
    Ok(members)
}

/// Contents in force: those of the highest version on which at least two copies agree. The error is
/// a sentence for users.
pub(crate) fn in_force(copies: &[CopyState; COPIES]) -> Result<&Contents, String> {
    let newer = copies.iter().filter_map(|copy| match copy {
        CopyState::Newer { format_version } => Some(*format_version),
        _ => None,
    });
    if newer.clone().count() >= 2 {
        return Err(format!(
            "the pool has format version {}; this release reads version {FORMAT_VERSION}: use a newer release",
            newer.max().unwrap_or_default()
        ));
    }
    let agreed = copies.iter().filter_map(CopyState::contents).filter(|contents| {
        let same = copies.iter().filter(|copy| copy.contents() == Some(*contents));
        same.count() >= 2
    });
    if let Some(contents) = agreed.max_by_key(|contents| contents.version) {
        // A crash inside a swap may have left two copies of the new root. If one of them cannot be
        // read now, continuing with the old root would overwrite blocks that the new one needs, and
        // the new one would be in force again when both can be read.
        let newer = copies.iter().filter_map(CopyState::contents).any(|other| other.version > contents.version);
        if newer && let Some(unread) = copies.iter().find(|copy| matches!(copy, CopyState::Unreadable(_))) {
            return Err(format!(
                "the pool cannot be opened now: one superblock copy has a newer root than two others, and one that may confirm it is {}",
                describe(unread)
            ));
        }
        return Ok(contents);
    }
    let mut found = copies.iter().filter(|copy| **copy != CopyState::PlaceUnknown);
    if found.clone().all(|copy| *copy == CopyState::Blank) {
        return Err("the device is blank: it holds no pool".to_owned());
    }
    if found.all(|copy| matches!(copy, CopyState::Blank | CopyState::Foreign)) {
        return Err("this is not a pool: it holds other data, and no superblock".to_owned());
    }
    let findings: Vec<String> =
        copies.iter().enumerate().map(|(index, copy)| format!("copy {index}: {}", describe(copy))).collect();
    Err(format!(
        "the pool cannot be opened: two intact superblock copies of one version are needed, but found were {}",
        findings.join("; ")
    ))
}

/// Short description of a copy, for messages.
pub(crate) fn describe(copy: &CopyState) -> String {
    match copy {
        CopyState::Intact(contents) => format!("intact, version {}", contents.version),
        CopyState::Newer { format_version } => format!("format version {format_version}"),
        CopyState::Blank => "blank".to_owned(),
        CopyState::Foreign => "other data".to_owned(),
        CopyState::Damaged(reason) => format!("damaged: {reason}"),
        CopyState::Unreadable(reason) => format!("unreadable: {reason}"),
        CopyState::PlaceUnknown => "not found: its place depends on the other copies".to_owned(),
    }
}

/// Groups of copies in the order in which a swap writes them: first two copies without which the
/// other two still hold the root in force, then those. `holds`: whether each copy holds it; at
/// least two do. Copies 0 and 1 are never in one group: one of them must lead to copies 2 and 3,
/// whose places depend on the size of the pool.
pub(crate) fn write_groups(holds: [bool; COPIES]) -> Vec<Vec<usize>> {
    let mut order = [0, 2, 1, 3];
    // Stable sort: copies that hold the root keep their order, and come after those that do not.
    order.sort_by_key(|&index| holds.get(index).copied().unwrap_or(false));
    let pairs = order.chunks(COPIES / 2);
    pairs
        .flat_map(|pair| match pair {
            [0, 1] | [1, 0] => pair.iter().map(|&copy| vec![copy]).collect(),
            _ => vec![pair.to_vec()],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn contents(version: u64, root: &[u8]) -> Contents {
        Contents {
            uuid: *b"0123456789abcdef",
            geometry: Geometry::new(10_000, 64 << 10).unwrap(),
            incompatible: 0,
            read_only_compatible: 0,
            compatible: 0,
            version,
            root: root.to_vec(),
            members: Vec::new(),
        }
    }

    fn intact(version: u64, root: &[u8]) -> CopyState {
        CopyState::Intact(Box::new(contents(version, root)))
    }

    #[test]
    fn fields_are_where_the_format_says() {
        let block = contents(0x0102_0304, b"root").encode(2);
        assert_eq!(&block.0[0..8], b"WINDLASS");
        assert_eq!(&block.0[8..16], &[1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(&block.0[16..40], &[0; 24]);
        assert_eq!(&block.0[40..56], b"0123456789abcdef");
        assert_eq!(&block.0[56..64], &10_000u64.to_le_bytes());
        assert_eq!(&block.0[64..72], &256u64.to_le_bytes());
        assert_eq!(&block.0[72..80], &16u64.to_le_bytes());
        assert_eq!(&block.0[80..88], &[4, 3, 2, 1, 0, 0, 0, 0]);
        assert_eq!(&block.0[88..96], &[4, 0, 0, 0, 0, 0x10, 0, 0]);
        assert_eq!(&block.0[512..517], b"root\0");
        let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, &block.0[..4088]);
        assert_eq!(&block.0[4088..], &crc.to_le_bytes());
        assert_eq!(CopyState::examine(&block, 2, 272), intact(0x0102_0304, b"root"));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let block = contents(7, &[0xa5; MAX_ROOT_BYTES]).encode(0);
        for bit in 0..BLOCK_BYTES * 8 {
            let mut damaged = block.clone();
            damaged.0[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(CopyState::examine(&damaged, 0, 0).contents(), None, "bit {bit}");
        }
    }

    #[test]
    fn a_copy_in_the_wrong_place_does_not_count() {
        let block = contents(7, b"").encode(0);
        assert!(matches!(CopyState::examine(&block, 1, 1), CopyState::Damaged(_)));
        assert!(matches!(CopyState::examine(&contents(7, b"").encode(3), 3, 8_000), CopyState::Damaged(_)));
    }

    #[test]
    fn the_highest_version_of_two_copies_is_in_force() {
        let damaged = || CopyState::Damaged(String::new());
        let version = |copies: [CopyState; 4]| in_force(&copies).map(|found| (found.version, found.root.clone()));
        let unread = || CopyState::Unreadable(String::new());
        assert!(version([unread(), intact(8, b"c"), intact(7, b"b"), intact(7, b"b")]).is_err());
        assert!(version([damaged(), intact(8, b"c"), intact(7, b"b"), intact(7, b"b")]).is_ok());
        assert!(version([unread(), intact(7, b"b"), intact(7, b"b"), intact(7, b"b")]).is_ok());
        let old = || intact(1, b"old");
        let new = || intact(2, b"new");
        assert_eq!(version([new(), new(), new(), new()]), Ok((2, b"new".to_vec())));
        assert_eq!(version([new(), old(), new(), old()]), Ok((2, b"new".to_vec())));
        assert_eq!(version([new(), old(), damaged(), old()]), Ok((1, b"old".to_vec())));
        assert_eq!(version([intact(2, b"lost"), old(), new(), old()]), Ok((1, b"old".to_vec())));
        assert!(version([new(), old(), damaged(), damaged()]).unwrap_err().contains("two intact"));
        assert!(version([damaged(), damaged(), damaged(), damaged()]).unwrap_err().contains("copy 3: damaged"));
    }

    #[test]
    fn a_newer_format_is_named() {
        let newer = || CopyState::Newer { format_version: 9 };
        let blank = || CopyState::Blank;
        assert!(in_force(&[newer(), newer(), newer(), newer()]).unwrap_err().contains("format version 9"));
        assert!(in_force(&[blank(), blank(), blank(), blank()]).unwrap_err().contains("blank"));
        assert!(in_force(&[CopyState::Foreign, blank(), blank(), blank()]).unwrap_err().contains("not a pool"));
    }

    #[test]
    fn a_swap_spares_two_copies_of_the_root_in_force() {
        for mask in 0u8..16 {
            let holds = [0, 1, 2, 3].map(|index| mask & (1 << index) != 0);
            if holds.iter().filter(|&&holds| holds).count() < 2 {
                continue;
            }
            let groups = write_groups(holds);
            let order = groups.concat();
            assert!(holds[order[2]] && holds[order[3]], "{holds:?} {order:?}");
            assert!(groups.iter().all(|group| !(group.contains(&0) && group.contains(&1))), "{groups:?}");
        }
        assert_eq!(write_groups([true; 4]), [[0, 2], [1, 3]]);
        assert_eq!(write_groups([false, false, true, true]), [vec![0], vec![1], vec![2, 3]]);
    }

    #[test]
    fn the_data_area_starts_at_a_segment() {
        let small = Geometry::new(4096, 64 << 10).unwrap();
        assert_eq!((small.copy_blocks(), small.data_start(), small.data_end()), ([0, 1, 272, 4095], 2048, 4095));
        let full = Geometry::new(1 << 24, (2048 - 256) * 4096).unwrap();
        assert_eq!((full.copy_blocks()[2], full.data_start()), (2048, 4096));
        assert!(Geometry::new(2049, 64 << 10).unwrap_err().contains("at least 2050"));
        assert!(Geometry::new(10_000, 1000).is_err());
        assert!(Geometry::new(10_000, 1 << 62).is_err());
        assert!(Geometry::new(u64::MAX, 1 << 62).is_err());
    }
}
