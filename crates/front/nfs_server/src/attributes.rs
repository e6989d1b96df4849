//! Attributes of NFSv4: from those of a file to the wire, and back to what a file system can set.
//!
//! Served are those that have a value in [`Subject::value`], and those in [`SETTABLE`]. Without a value
//! on purpose: ACLs, and the capabilities of the character set.

use nfs::v4::attributes::{Attribute, ChangeType, Direction, Fattr, row};
use nfs::v4::{Bitmap, Device, FileSystemId, FileType, Status, Time};
use vfs::{Attributes, Capacity, Kind, Limits, NAME_BYTES, SetAttributes, SetTime, Space, Timestamp, policy};
use xdr::Writer;

/// Number of an attribute that code decides about.
pub(crate) mod number {
    pub const SIZE: u32 = 4;
    pub const READ_ERROR: u32 = 11;
    pub const FILES_AVAILABLE: u32 = 21;
    pub const FILES_FREE: u32 = 22;
    pub const FILES_TOTAL: u32 = 23;
    pub const MODE: u32 = 33;
    pub const OWNER: u32 = 36;
    pub const OWNER_GROUP: u32 = 37;
    pub const QUOTA_AVAILABLE_HARD: u32 = 38;
    pub const QUOTA_AVAILABLE_SOFT: u32 = 39;
    pub const QUOTA_USED: u32 = 40;
    pub const SPACE_AVAILABLE: u32 = 42;
    pub const SPACE_FREE: u32 = 43;
    pub const SPACE_TOTAL: u32 = 44;
    pub const TIME_ACCESS_SET: u32 = 48;
    pub const TIME_MODIFY_SET: u32 = 54;
    pub const SPACE_FREED: u32 = 78;
}

/// Attributes that can be set, in exclusive creations too: their verifier is kept elsewhere.
const SETTABLE: [u32; 6] =
    [number::SIZE, number::MODE, number::OWNER, number::OWNER_GROUP, number::TIME_ACCESS_SET, number::TIME_MODIFY_SET];

/// Attributes that have a value for every file.
const READABLE: [u32; 48] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18, 19, 20, 21, 22, 23, 26, 27, 28, 29, 30, 31, 33, 34, 35, 36,
    37, 38, 39, 40, 41, 42, 43, 44, 45, 47, 50, 51, 52, 53, 55, 75, 77,
];

/// Readable attributes of NFSv4.2: RFC 7862 §12.2, RFC 8276 §8.2.
const READABLE_IN_2: [u32; 3] = [number::SPACE_FREED, 79, 82];

/// Attributes that a minor version serves: `supported_attrs`.
pub(crate) fn supported(minor: u32) -> Bitmap {
    let later = READABLE_IN_2.into_iter().filter(|_| minor >= 2);
    READABLE.into_iter().filter(|number| *number != 77 || minor >= 2).chain(later).chain(SETTABLE).collect()
}

/// Whether any of these attributes needs [`vfs::FileSystem::capacity`].
pub(crate) fn needs_capacity(wanted: &Bitmap) -> bool {
    use number::{FILES_AVAILABLE, FILES_FREE, FILES_TOTAL, SPACE_AVAILABLE, SPACE_FREE, SPACE_TOTAL};
    use number::{QUOTA_AVAILABLE_HARD, QUOTA_AVAILABLE_SOFT, QUOTA_USED};
    let of_files = [FILES_AVAILABLE, FILES_FREE, FILES_TOTAL];
    let of_space = [SPACE_AVAILABLE, SPACE_FREE, SPACE_TOTAL, QUOTA_AVAILABLE_HARD, QUOTA_AVAILABLE_SOFT, QUOTA_USED];
    of_files.into_iter().chain(of_space).any(|number| wanted.contains(number))
}

/// Whether the attributes need [`vfs::FileSystem::space`], which may take a walk of the file's map.
pub(crate) fn needs_space(wanted: &Bitmap) -> bool {
    wanted.contains(number::SPACE_FREED)
}

/// Refuses what cannot be read: attributes that can only be set.
pub(crate) fn check_readable(wanted: &Bitmap) -> Result<(), Status> {
    let write_only = |number| row(number).is_some_and(|row| row.direction == Direction::Write);
    if wanted.iter().any(write_only) { Err(Status::INVAL) } else { Ok(()) }
}

/// Facts of a file system that its files' attributes contain.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Identity.
    pub fsid: FileSystemId,
    /// Limits.
    pub limits: Limits,
    /// Lease of clients in seconds.
    pub lease_seconds: u32,
    /// Minor version of the compound.
    pub minor: u32,
    /// Whether files have extended attributes.
    pub xattrs: bool,
    /// Space, if it is needed.
    pub capacity: Capacity,
}

/// File whose attributes are asked for.
pub(crate) struct Subject<'a> {
    /// Its file system.
    pub place: &'a Place,
    /// Its attributes.
    pub file: &'a Attributes,
    /// Its handle.
    pub handle: &'a [u8],
    /// Number of the directory entry that it is mounted on; its own, but for the root of a share.
    pub mounted_on: u64,
    /// Its space, if it is needed.
    pub space: Space,
}

impl Subject<'_> {
    /// Value of an attribute; `None` for one that is not served.
    pub fn value(&self, number: u32) -> Option<Attribute> {
        if !supported(self.place.minor).contains(number) {
            return None;
        }
        self.file_value(number).or_else(|| self.place.value(number))
    }

    /// Wire form of those of the wanted attributes that are served.
    pub fn fattr(&self, wanted: &Bitmap) -> Fattr {
        let mut values = Writer::default();
        let mut mask = Bitmap::EMPTY;
        for number in wanted.intersection(&supported(self.place.minor)).iter() {
            if let Some(value) = self.file_value(number).or_else(|| self.place.value(number)) {
                value.encode_value(&mut values);
                mask.insert(number);
            }
        }
        Fattr { mask, values: values.into_bytes().into() }
    }

    /// Compares attributes with those that a client has sent: VERIFY and NVERIFY.
    ///
    /// * `ATTRNOTSUPP`: one that is not served.
    /// * `INVAL`: one that can only be set, or `rdattr_error`.
    pub fn equals(&self, attributes: &Fattr) -> Result<bool, Status> {
        check_comparable(&attributes.mask, self.place.minor)?;
        let same = |attribute: &Attribute| self.value(attribute.number()).as_ref() == Some(attribute);
        Ok(attributes.attributes()?.iter().all(same))
    }

    fn file_value(&self, number: u32) -> Option<Attribute> {
        use Attribute as A;
        let Attributes { kind, mode, links, user, group, size_bytes, used_bytes, device, .. } = *self.file;
        Some(match number {
            1 => A::Type(file_type(kind)),
            3 => A::Change(self.file.change.0),
            number::SIZE => A::Size(size_bytes),
            number::READ_ERROR => A::ReadError(Ok(())),
            19 => A::Filehandle(self.handle.into()),
            20 => A::Fileid(self.file.file.0),
            number::MODE => A::Mode(mode.into()),
            35 => A::Links(links),
            number::OWNER => A::Owner(user.to_string().into_bytes().into()),
            number::OWNER_GROUP => A::OwnerGroup(group.to_string().into_bytes().into()),
            41 => A::RawDevice(Device { major: device.major, minor: device.minor }),
            45 => A::SpaceUsed(used_bytes),
            47 => A::TimeAccess(time(self.file.accessed)),
            50 => A::TimeCreate(time(self.file.born)),
            52 => A::TimeMetadata(time(self.file.changed)),
            53 => A::TimeModify(time(self.file.modified)),
            55 => A::MountedOnFileid(self.mounted_on),
            number::SPACE_FREED => A::SpaceFreed(self.space.freed_bytes),
            _ => return None,
        })
    }
}

impl Place {
    fn value(&self, number: u32) -> Option<Attribute> {
        use Attribute as A;
        let Capacity { total_bytes, free_bytes, available_bytes, used_bytes, files, free_files } = self.capacity;
        Some(match number {
            0 => A::SupportedAttributes(supported(self.minor)),
            2 => A::HandleExpireType(0), // FH4_PERSISTENT
            5 => A::LinkSupport(true),
            6 => A::SymlinkSupport(true),
            7 => A::NamedAttributes(false),
            8 => A::Fsid(self.fsid.clone()),
            9 => A::UniqueHandles(true),
            10 => A::LeaseTime(self.lease_seconds),
            15 => A::CanSetTime(true),
            16 => A::CaseInsensitive(false),
            17 => A::CasePreserving(true),
            18 => A::ChownRestricted(true),
            number::FILES_AVAILABLE => A::FilesAvailable(free_files),
            number::FILES_FREE => A::FilesFree(free_files),
            number::FILES_TOTAL => A::FilesTotal(files),
            26 => A::Homogeneous(true),
            27 => A::MaxFileSize(self.limits.file_bytes),
            28 => A::MaxLinks(self.limits.links),
            29 => A::MaxName(u32::try_from(NAME_BYTES).unwrap_or(u32::MAX)),
            30 => A::MaxRead(self.limits.io_bytes.into()),
            31 => A::MaxWrite(self.limits.io_bytes.into()),
            34 => A::NoTruncation(true),
            // Of a share without a quota, the pool is the limit. Nothing warns before it, RFC 8881 §5.8.2.
            number::QUOTA_AVAILABLE_HARD => A::QuotaAvailableHard(available_bytes),
            number::QUOTA_AVAILABLE_SOFT => A::QuotaAvailableSoft(available_bytes),
            number::QUOTA_USED => A::QuotaUsed(used_bytes),
            number::SPACE_AVAILABLE => A::SpaceAvailable(available_bytes),
            number::SPACE_FREE => A::SpaceFree(free_bytes),
            number::SPACE_TOTAL => A::SpaceTotal(total_bytes),
            51 => A::TimeDelta(Time { seconds: 0, nanoseconds: 1 }),
            75 => A::SupportedExclusiveCreate(SETTABLE.into_iter().collect()),
            77 => A::CloneBlockSize(self.limits.grain_bytes),
            79 => A::ChangeAttributeType(ChangeType::MonotonicIncreasing),
            82 => A::XattrSupport(self.xattrs),
            _ => return None,
        })
    }
}

/// Wire form of the only attribute of an entry that cannot be read, if it was asked for.
pub(crate) fn read_error(wanted: &Bitmap, status: Status) -> Option<Fattr> {
    wanted.contains(number::READ_ERROR).then(|| Fattr::new([Attribute::ReadError(Err(status))]))
}

/// Attributes to set, and their numbers, which a reply returns once they are set.
///
/// * `ATTRNOTSUPP`: one that is not served, or that nobody can set. `INVAL`: one that is read-only.
/// * `BADXDR`: values that do not fit the mask.
/// * `BADOWNER`: an owner that is no number. `INVAL`: a mode or a time that there is not.
pub(crate) fn to_set(attributes: &Fattr, minor: u32) -> Result<SetAttributes, Status> {
    let served = supported(minor);
    if let Some(number) = attributes.mask.iter().find(|number| !SETTABLE.contains(number)) {
        let read_only = row(number).is_some_and(|row| row.direction == Direction::Read);
        return Err(if served.contains(number) && read_only { Status::INVAL } else { Status::ATTRNOTSUPP });
    }
    let mut set = SetAttributes::default();
    for attribute in attributes.attributes()? {
        match attribute {
            Attribute::Size(bytes) => set.size_bytes = Some(bytes),
            Attribute::Mode(mode) => set.mode = Some(mode_bits(mode)?),
            Attribute::Owner(owner) => set.user = Some(identifier(&owner)?),
            Attribute::OwnerGroup(group) => set.group = Some(identifier(&group)?),
            Attribute::TimeAccessSet(time) => set.accessed = Some(set_time(&time)?),
            Attribute::TimeModifySet(time) => set.modified = Some(set_time(&time)?),
            _ => return Err(Status::ATTRNOTSUPP),
        }
    }
    Ok(set)
}

fn check_comparable(mask: &Bitmap, minor: u32) -> Result<(), Status> {
    let served = supported(minor);
    if mask.iter().any(|number| !served.contains(number)) {
        return Err(Status::ATTRNOTSUPP);
    }
    check_readable(mask)?;
    if mask.contains(number::READ_ERROR) { Err(Status::INVAL) } else { Ok(()) }
}

/// Bits above those that a mode has are refused, RFC 8881 §6.2.4.
fn mode_bits(mode: u32) -> Result<u16, Status> {
    let bits = u16::try_from(mode).map_err(|_| Status::INVAL)?;
    if bits & !policy::MODE_BITS == 0 { Ok(bits) } else { Err(Status::INVAL) }
}

/// User or group: decimal digits without leading zeros, RFC 8881 §5.9. The array has no names of users.
fn identifier(text: &[u8]) -> Result<u32, Status> {
    let text = std::str::from_utf8(text).map_err(|_| Status::BADOWNER)?;
    let number: u32 = text.parse().map_err(|_| Status::BADOWNER)?;
    // All ones stand for no user. The comparison refuses signs and leading zeros.
    if number != u32::MAX && number.to_string() == text { Ok(number) } else { Err(Status::BADOWNER) }
}

fn set_time(time: &nfs::v4::attributes::SetTime) -> Result<SetTime, Status> {
    use nfs::v4::attributes::SetTime as Wire;
    match time {
        Wire::ServerTime => Ok(SetTime::Now),
        Wire::ClientTime(Time { seconds, nanoseconds }) => {
            Timestamp::new(*seconds, *nanoseconds).map(SetTime::To).ok_or(Status::INVAL)
        }
    }
}

/// Kind on the wire.
pub(crate) const fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::Regular,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Link,
        Kind::BlockDevice => FileType::Block,
        Kind::CharacterDevice => FileType::Character,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
    }
}

const fn time(time: Timestamp) -> Time {
    Time { seconds: time.seconds(), nanoseconds: time.nanoseconds() }
}

#[cfg(test)]
mod tests;
