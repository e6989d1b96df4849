//! Offload primitives.

use std::fmt;

/// Offload primitive: of volumes over SCSI, or of shares over NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Primitive {
    /// COMPARE AND WRITE.
    Ats,
    /// EXTENDED COPY.
    Xcopy,
    /// WRITE SAME.
    Zero,
    /// UNMAP.
    Unmap,
    /// CLONE of NFS.
    Clone,
    /// COPY of NFS.
    Copy,
    /// ALLOCATE of NFS.
    Reserve,
    /// DEALLOCATE of NFS.
    Free,
    /// SEEK of NFS.
    Seek,
    /// READ_PLUS of NFS.
    ReadPlus,
    /// WRITE_SAME of NFS.
    WriteSame,
    /// Extended statistics: GETATTR of space_freed, and the read-only extended attributes.
    ExtendedStatistics,
    /// OFFLOAD_STATUS of NFS.
    OffloadStatus,
    /// OFFLOAD_CANCEL of NFS.
    OffloadAbort,
}

impl Primitive {
    /// Number of primitives.
    pub const COUNT: usize = 14;
    /// All primitives, in the order of every table.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Ats,
        Self::Xcopy,
        Self::Zero,
        Self::Unmap,
        Self::Clone,
        Self::Copy,
        Self::Reserve,
        Self::Free,
        Self::Seek,
        Self::ReadPlus,
        Self::WriteSame,
        Self::ExtendedStatistics,
        Self::OffloadStatus,
        Self::OffloadAbort,
    ];

    /// Name in counters, log and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ats => "ats",
            Self::Xcopy => "xcopy",
            Self::Zero => "zero",
            Self::Unmap => "unmap",
            Self::Clone => "clone",
            Self::Copy => "copy",
            Self::Reserve => "reserve",
            Self::Free => "free",
            Self::Seek => "seek",
            Self::ReadPlus => "read-plus",
            Self::WriteSame => "write-same",
            Self::ExtendedStatistics => "extstat",
            Self::OffloadStatus => "offload-status",
            Self::OffloadAbort => "offload-abort",
        }
    }

    /// True for a primitive of volumes, false for one of shares.
    pub const fn is_of_volumes(self) -> bool {
        matches!(self, Self::Ats | Self::Xcopy | Self::Zero | Self::Unmap)
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Primitive;
    use std::collections::BTreeSet;

    #[test]
    fn every_primitive_has_a_name_and_a_place_of_its_own() {
        assert!(Primitive::ALL.is_sorted());
        let names: BTreeSet<_> = Primitive::ALL.map(Primitive::name).into();
        assert_eq!(names.len(), Primitive::COUNT);
        assert_eq!(Primitive::ALL.into_iter().filter(|primitive| primitive.is_of_volumes()).count(), 4);
    }
}
