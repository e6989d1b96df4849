//! Attributes of files, RFC 8881 §5, RFC 7862 §12.2, RFC 8275 and RFC 8276 §8.2.
//!
//! On the wire, attributes are a set of numbers and their values without any marks between them.
//! [`Fattr`] is that form, which every operation has; [`Fattr::attributes`] reads the values. An
//! attribute that this table lacks ends the reading, as its length is not known.

use xdr::{Opaque, Reader, Writer, Xdr, XdrError, types};

use super::{Bitmap, Device, FileSystemId, FileType, Filehandle, MAX_OPAQUE_BYTES, Stateid, Status, Text, Time};

/// Owner or group: text that is decimal digits, or `name@domain` (§5.9).
pub type Owner = Opaque<MAX_OPAQUE_BYTES>;

types! {
    /// Attributes on the wire: `fattr4` (§3.3.2).
    struct Fattr {
        /// Numbers of the attributes.
        mask: Bitmap,
        /// Values, ascending by number.
        values: Text,
    }

    /// New value of a time: `settime4` (§3.3.4).
    union SetTime {
        /// Time of the server.
        0 => ServerTime,
        /// Time of the client.
        1 => ClientTime(time: Time),
    }

    /// Bits of the mode to change: `mode_masked4` (§6.2.5).
    struct MaskedMode {
        /// Values of the bits.
        mode: u32,
        /// Bits that are changed.
        mask: u32,
    }

    /// Mode of a new file and umask of its creator: `mode_umask4` (RFC 8275 §4.3).
    struct ModeUmask {
        /// Mode.
        mode: u32,
        /// Umask.
        umask: u32,
    }

    /// How the change attribute moves: `change_attr_type4` (RFC 7862 §12.2.3).
    enum ChangeType {
        /// Grows monotonically.
        MonotonicIncreasing = 0,
        /// Grows by one with each change.
        VersionCounter = 1,
        /// As `VersionCounter`, but not with pNFS.
        VersionCounterNoPnfs = 2,
        /// Is the time of the last change.
        TimeMetadata = 3,
        /// Not defined.
        Undefined = 4,
    }

    /// `GETATTR4args` (§18.7).
    struct GetAttributesArguments {
        /// Wanted attributes.
        wanted: Bitmap,
    }

    /// `SETATTR4args` (§18.30).
    struct SetAttributesArguments {
        /// Open with write access, for the size.
        stateid: Stateid,
        /// New attributes.
        attributes: Fattr,
    }

    /// `SETATTR4res` (§18.30): the set is there in failures, too.
    struct SetAttributesResults {
        /// Outcome.
        status: super::Done,
        /// Attributes that were set.
        set: Bitmap,
    }
}

impl super::HasStatus for SetAttributesResults {
    fn status(&self) -> Result<(), Status> {
        self.status
    }
    fn failed(status: Status) -> Self {
        Self { status: Err(status), set: Bitmap::EMPTY }
    }
}

/// Access that clients have to an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Read it.
    Read,
    /// Read and set it.
    ReadWrite,
    /// Set it.
    Write,
}

/// Facts of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeRow {
    /// Number.
    pub number: u32,
    /// Name in the standard.
    pub name: &'static str,
    /// What clients may do with it.
    pub direction: Direction,
}

macro_rules! attributes {
    ($($(#[$doc:meta])* $number:literal => $variant:ident($type:ty) $name:literal $direction:ident,)*) => {
        /// Value of an attribute.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Attribute {
            $($(#[$doc])* $variant($type),)*
        }

        /// All attributes that have a type here, by number.
        pub const ATTRIBUTES: &[AttributeRow] =
            &[$(AttributeRow { number: $number, name: $name, direction: Direction::$direction },)*];

        impl Attribute {
            /// Number of the attribute.
            pub fn number(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $number,)*
                }
            }

            /// Appends the value.
            pub fn encode_value(&self, writer: &mut Writer) {
                match self {
                    $(Self::$variant(value) => value.encode(writer),)*
                }
            }

            /// Takes the value of the attribute with that number; `None` if it has no type here.
            pub fn decode_value(number: u32, reader: &mut Reader) -> Option<Result<Self, XdrError>> {
                match number {
                    $($number => {
                        Some(<$type>::decode(reader).map(Self::$variant).map_err(|error| error.within($name)))
                    })*
                    _ => None,
                }
            }
        }

        #[cfg(any(test, feature = "testing"))]
        impl xdr::Sample for Attribute {
            fn sample(random: &xdr::Random) -> Self {
                let all: &[fn(&xdr::Random) -> Self] =
                    &[$(|random| Self::$variant(<$type as xdr::Sample>::sample(random)),)*];
                all[random.index(all.len())](random)
            }
        }
    };
}

attributes! {
    /// Attributes that the file system has.
    0 => SupportedAttributes(Bitmap) "supported_attrs" Read,
    /// Kind of the file.
    1 => Type(FileType) "type" Read,
    /// When handles expire; 0 is never.
    2 => HandleExpireType(u32) "fh_expire_type" Read,
    /// Moves with every change.
    3 => Change(u64) "change" Read,
    /// Size in bytes.
    4 => Size(u64) "size" ReadWrite,
    /// Whether there are hard links.
    5 => LinkSupport(bool) "link_support" Read,
    /// Whether there are symbolic links.
    6 => SymlinkSupport(bool) "symlink_support" Read,
    /// Whether the file has named attributes.
    7 => NamedAttributes(bool) "named_attr" Read,
    /// File system.
    8 => Fsid(FileSystemId) "fsid" Read,
    /// Whether different handles are different files.
    9 => UniqueHandles(bool) "unique_handles" Read,
    /// Lease in seconds.
    10 => LeaseTime(u32) "lease_time" Read,
    /// Why an entry of READDIR has no other attributes.
    11 => ReadError(super::Done) "rdattr_error" Read,
    /// Kinds of access control entries that there are.
    13 => AclSupport(u32) "aclsupport" Read,
    /// Whether times can be set.
    15 => CanSetTime(bool) "cansettime" Read,
    /// Whether names that differ only in case are equal.
    16 => CaseInsensitive(bool) "case_insensitive" Read,
    /// Whether the case of names is kept.
    17 => CasePreserving(bool) "case_preserving" Read,
    /// Whether only the superuser may change an owner.
    18 => ChownRestricted(bool) "chown_restricted" Read,
    /// Handle.
    19 => Filehandle(Filehandle) "filehandle" Read,
    /// Number of the file in its file system.
    20 => Fileid(u64) "fileid" Read,
    /// File slots that the caller may use.
    21 => FilesAvailable(u64) "files_avail" Read,
    /// Free file slots.
    22 => FilesFree(u64) "files_free" Read,
    /// All file slots.
    23 => FilesTotal(u64) "files_total" Read,
    /// Whether attributes of the file system are the same for all its files.
    26 => Homogeneous(bool) "homogeneous" Read,
    /// Largest file in bytes.
    27 => MaxFileSize(u64) "maxfilesize" Read,
    /// Most hard links of a file.
    28 => MaxLinks(u32) "maxlink" Read,
    /// Longest name in bytes.
    29 => MaxName(u32) "maxname" Read,
    /// Longest READ in bytes.
    30 => MaxRead(u64) "maxread" Read,
    /// Longest WRITE in bytes.
    31 => MaxWrite(u64) "maxwrite" Read,
    /// Permission bits.
    33 => Mode(u32) "mode" ReadWrite,
    /// Whether names that are too long are refused, and not cut.
    34 => NoTruncation(bool) "no_trunc" Read,
    /// Number of hard links.
    35 => Links(u32) "numlinks" Read,
    /// Owner.
    36 => Owner(Owner) "owner" ReadWrite,
    /// Group.
    37 => OwnerGroup(Owner) "owner_group" ReadWrite,
    /// Bytes that the caller may still take before allocation fails.
    38 => QuotaAvailableHard(u64) "quota_avail_hard" Read,
    /// Bytes that the caller may still take before a warning.
    39 => QuotaAvailableSoft(u64) "quota_avail_soft" Read,
    /// Bytes that count against the quota.
    40 => QuotaUsed(u64) "quota_used" Read,
    /// Device of a special file.
    41 => RawDevice(Device) "rawdev" Read,
    /// Free bytes that the caller may use.
    42 => SpaceAvailable(u64) "space_avail" Read,
    /// Free bytes.
    43 => SpaceFree(u64) "space_free" Read,
    /// All bytes.
    44 => SpaceTotal(u64) "space_total" Read,
    /// Bytes that the file takes.
    45 => SpaceUsed(u64) "space_used" Read,
    /// Last access.
    47 => TimeAccess(Time) "time_access" Read,
    /// Sets the time of the last access.
    48 => TimeAccessSet(SetTime) "time_access_set" Write,
    /// Creation.
    50 => TimeCreate(Time) "time_create" ReadWrite,
    /// Granularity of times.
    51 => TimeDelta(Time) "time_delta" Read,
    /// Last change of the attributes.
    52 => TimeMetadata(Time) "time_metadata" Read,
    /// Last change of the content.
    53 => TimeModify(Time) "time_modify" Read,
    /// Sets the time of the last change of the content.
    54 => TimeModifySet(SetTime) "time_modify_set" Write,
    /// Number of the directory on which a file system is mounted.
    55 => MountedOnFileid(u64) "mounted_on_fileid" Read,
    /// Sets some permission bits.
    74 => ModeSetMasked(MaskedMode) "mode_set_masked" Write,
    /// Attributes that an exclusive creation can set.
    75 => SupportedExclusiveCreate(Bitmap) "suppattr_exclcreat" Read,
    /// Capabilities of the character set.
    76 => CharsetCapabilities(u32) "fs_charset_cap" Read,
    /// Alignment of CLONE in bytes.
    77 => CloneBlockSize(u32) "clone_blksize" Read,
    /// Bytes that are free after the file is deleted.
    78 => SpaceFreed(u64) "space_freed" Read,
    /// How `change` moves.
    79 => ChangeAttributeType(ChangeType) "change_attr_type" Read,
    /// Mode and umask of a new file.
    81 => ModeUmask(ModeUmask) "mode_umask" Write,
    /// Whether there are extended attributes.
    82 => XattrSupport(bool) "xattr_support" Read,
}

/// Facts of an attribute; `None` if it has no type here.
pub fn row(number: u32) -> Option<&'static AttributeRow> {
    ATTRIBUTES.binary_search_by_key(&number, |row| row.number).ok().and_then(|index| ATTRIBUTES.get(index))
}

/// Why the values of a [`Fattr`] cannot be read.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum AttributeError {
    /// The attribute has no type here: `ATTRNOTSUPP`. Positions of the values after it are unknown.
    #[error("attribute {number} is not supported")]
    NotSupported {
        /// Number of the attribute.
        number: u32,
    },
    /// The values do not fit the mask: `BADXDR`.
    #[error("attributes: {0}")]
    Malformed(#[from] XdrError),
}

impl AttributeError {
    /// Status of the operation.
    pub fn status(&self) -> Status {
        match self {
            Self::NotSupported { .. } => Status::ATTRNOTSUPP,
            Self::Malformed(_) => Status::BADXDR,
        }
    }
}

impl Fattr {
    /// No attributes.
    pub fn none() -> Self {
        Self { mask: Bitmap::EMPTY, values: Text::default() }
    }

    /// Wire form of attributes in any order. Of two with one number the last one counts.
    pub fn new(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        let mut sorted = std::collections::BTreeMap::new();
        for attribute in attributes {
            sorted.insert(attribute.number(), attribute);
        }
        let mut writer = Writer::default();
        sorted.values().for_each(|attribute| attribute.encode_value(&mut writer));
        Self { mask: sorted.keys().copied().collect(), values: writer.into_bytes().into() }
    }

    /// The attributes, ascending by number. Nothing may be left after the last one.
    pub fn attributes(&self) -> Result<Vec<Attribute>, AttributeError> {
        let mut reader = Reader::new(self.values.as_bytes().clone());
        let mut attributes = Vec::new();
        for number in self.mask.iter() {
            let value = Attribute::decode_value(number, &mut reader);
            attributes.push(value.ok_or(AttributeError::NotSupported { number })??);
        }
        reader.finish().map_err(|error| error.within("fattr4.attr_vals"))?;
        Ok(attributes)
    }

    /// Appends the wire form of those of `wanted` for which `value` has one, without a copy of it in
    /// between. Returns their numbers.
    pub fn write(writer: &mut Writer, wanted: &Bitmap, mut value: impl FnMut(u32) -> Option<Attribute>) -> Bitmap {
        let words = wanted.iter().last().map_or(0, |last| last / 32 + 1);
        writer.u32(words);
        let slots: Vec<_> = (0..words).map(|_| writer.reserve()).collect();
        let length = writer.reserve();
        let start = writer.mark();
        let mut written = Bitmap::EMPTY;
        for number in wanted.iter() {
            if let Some(attribute) = value(number).filter(|attribute| attribute.number() == number) {
                attribute.encode_value(writer);
                written.insert(number);
            }
        }
        slots.into_iter().zip(written.words()).for_each(|(slot, word)| writer.fill(slot, word));
        // Values are short: the longest one is an owner.
        let bytes = u32::try_from(writer.length_since(start)).unwrap_or(u32::MAX);
        writer.fill(length, bytes);
        written
    }
}

impl From<AttributeError> for Status {
    fn from(error: AttributeError) -> Self {
        error.status()
    }
}
