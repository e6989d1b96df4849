//! Inode: 256 bytes of the inode table. All zeros: free.

use crate::layout::address::{INODE_BYTES, Region};
use vfs::{Device, FileId, Kind, Timestamp};
use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Longest target of a symbolic link inside the inode.
pub(crate) const INLINE_BYTES: usize = 64;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawTime {
    seconds: I64,
    nanoseconds: U32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawInode {
    kind: u8,
    version: u8,
    mode: U16,
    user: U32,
    group: U32,
    links: U32,
    size: U64,
    region: U64,
    change: U64,
    times: [RawTime; 4],
    device: [U32; 2],
    parent: U64,
    parent_key: U64,
    verifier: U64,
    entries: U64,
    target: [u8; INLINE_BYTES],
    xattr_bytes: U32,
    flags: u8,
    reserved: [u8; 55],
    crc: U32,
}

const _: () = assert!(size_of::<RawInode>() == INODE_BYTES);
const VERSION: u8 = 1;
const HAS_VERIFIER: u8 = 1;

/// Kinds by their number.
const KINDS: [(u8, Kind); 7] = [
    (1, Kind::File),
    (2, Kind::Directory),
    (3, Kind::Symlink),
    (4, Kind::BlockDevice),
    (5, Kind::CharacterDevice),
    (6, Kind::Fifo),
    (7, Kind::Socket),
];

/// Kind with a number.
pub(crate) fn kind_of(number: u8) -> Option<Kind> {
    KINDS.into_iter().find(|(of, _)| *of == number).map(|(_, kind)| kind)
}

/// Number of a kind.
pub(crate) fn kind_number(kind: Kind) -> u8 {
    KINDS.into_iter().find(|(_, of)| *of == kind).map_or(0, |(number, _)| number)
}

/// Times of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub accessed: Timestamp,
    pub modified: Timestamp,
    pub changed: Timestamp,
    pub born: Timestamp,
}

/// Inode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    pub kind: Kind,
    pub mode: u16,
    pub user: u32,
    pub group: u32,
    pub links: u32,
    /// Regular file: its size. Symbolic link: bytes of the target. Others: 0.
    pub size_bytes: u64,
    /// Region of content, entries or target.
    pub region: Option<Region>,
    /// Change counter, without the base of the share.
    pub change: u64,
    pub times: Times,
    pub device: Device,
    /// Directory of the last name that the file got.
    pub parent: FileId,
    /// Key of that name there.
    pub parent_key: u64,
    /// Verifier of an exclusive creation.
    pub verifier: Option<u64>,
    /// Entries of a directory.
    pub entries: u64,
    /// Target of a symbolic link that has no region.
    pub target: [u8; INLINE_BYTES],
    /// Bytes of the extended attributes as stored.
    pub xattr_bytes: u32,
}

/// CRC-32C.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Checksum of an inode, which depends on its place.
fn crc(bytes: &[u8; INODE_BYTES], file: FileId) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&bytes[..INODE_BYTES - 4]);
    digest.update(&file.0.to_le_bytes());
    digest.finalize() as u32
}

impl Inode {
    /// `Ok(None)`: free. `Err`: damaged, misplaced, or of a later version.
    pub(crate) fn decode(bytes: &[u8], file: FileId) -> Result<Option<Self>, ()> {
        let bytes: &[u8; INODE_BYTES] = bytes.try_into().map_err(|_| ())?;
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let raw = RawInode::read_from_bytes(bytes).map_err(|_| ())?;
        let known = raw.version == VERSION && raw.flags & !HAS_VERIFIER == 0 && raw.reserved == [0; 55];
        if raw.crc.get() != crc(bytes, file) || !known || raw.mode.get() > 0o7777 {
            return Err(());
        }
        let time = |at: usize| {
            let RawTime { seconds, nanoseconds } = raw.times[at];
            Timestamp::new(seconds.get(), nanoseconds.get()).ok_or(())
        };
        Ok(Some(Self {
            kind: kind_of(raw.kind).ok_or(())?,
            mode: raw.mode.get(),
            user: raw.user.get(),
            group: raw.group.get(),
            links: raw.links.get(),
            size_bytes: raw.size.get(),
            region: Region::decode(raw.region.get())?,
            change: raw.change.get(),
            times: Times { accessed: time(0)?, modified: time(1)?, changed: time(2)?, born: time(3)? },
            device: Device { major: raw.device[0].get(), minor: raw.device[1].get() },
            parent: FileId(raw.parent.get()),
            parent_key: raw.parent_key.get(),
            verifier: (raw.flags & HAS_VERIFIER != 0).then(|| raw.verifier.get()),
            entries: raw.entries.get(),
            target: raw.target,
            xattr_bytes: raw.xattr_bytes.get(),
        }))
    }

    pub(crate) fn encode(&self, file: FileId) -> [u8; INODE_BYTES] {
        let Times { accessed, modified, changed, born } = self.times;
        let raw = RawInode {
            kind: kind_number(self.kind),
            version: VERSION,
            mode: self.mode.into(),
            user: self.user.into(),
            group: self.group.into(),
            links: self.links.into(),
            size: self.size_bytes.into(),
            region: Region::encode(self.region).into(),
            change: self.change.into(),
            times: [accessed, modified, changed, born]
                .map(|time| RawTime { seconds: time.seconds().into(), nanoseconds: time.nanoseconds().into() }),
            device: [self.device.major.into(), self.device.minor.into()],
            parent: self.parent.0.into(),
            parent_key: self.parent_key.into(),
            verifier: self.verifier.unwrap_or(0).into(),
            entries: self.entries.into(),
            target: self.target,
            xattr_bytes: self.xattr_bytes.into(),
            flags: if self.verifier.is_some() { HAS_VERIFIER } else { 0 },
            reserved: [0; 55],
            crc: 0.into(),
        };
        let mut bytes = [0; INODE_BYTES];
        bytes.copy_from_slice(raw.as_bytes());
        let crc = crc(&bytes, file);
        bytes[INODE_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::address::Class;

    fn inode() -> Inode {
        let at = |seconds| Timestamp::new(seconds, 5).unwrap_or_default();
        Inode {
            kind: Kind::CharacterDevice,
            mode: 0o4751,
            user: 7,
            group: 8,
            links: 3,
            size_bytes: 1 << 40,
            region: Some(Region { class: Class::X, number: 9 }),
            change: 77,
            times: Times { accessed: at(1), modified: at(-2), changed: at(3), born: at(4) },
            device: Device { major: 8, minor: 300 },
            parent: FileId(2),
            parent_key: 1 << 62,
            verifier: Some(0),
            entries: 5,
            target: [9; 64],
            xattr_bytes: 4097,
        }
    }

    #[test]
    fn an_inode_is_what_was_stored() {
        let bytes = inode().encode(FileId(16));
        assert_eq!(Inode::decode(&bytes, FileId(16)), Ok(Some(inode())));
        assert_eq!(Inode::decode(&[0; 256], FileId(16)), Ok(None));
        let plain = Inode { verifier: None, ..inode() };
        assert_eq!(Inode::decode(&plain.encode(FileId(9)), FileId(9)), Ok(Some(plain)));
    }

    #[test]
    fn fields_stand_at_their_offsets() {
        let bytes = inode().encode(FileId(16));
        let number = |at: usize| bytes[at];
        assert_eq!((number(0), number(1), bytes[2..4].to_vec()), (5, 1, 0o4751_u16.to_le_bytes().to_vec()));
        assert_eq!((number(4), number(8), number(12), number(21), number(24), number(32)), (7, 8, 3, 1, 9, 77));
        assert_eq!((number(40), number(64), number(76), number(88), number(96)), (1, 3, 4, 8, 2));
        assert_eq!((number(111), number(120), number(128), number(193), number(196)), (0x40, 5, 9, 16, 1));
    }

    #[test]
    fn a_misplaced_or_damaged_inode_is_noticed() {
        let bytes = inode().encode(FileId(16));
        assert_eq!(Inode::decode(&bytes, FileId(17)), Err(()));
        for at in 0..256 {
            let mut bad = bytes;
            bad[at] ^= 1;
            assert_eq!(Inode::decode(&bad, FileId(16)), Err(()), "byte {at}");
        }
    }
}
