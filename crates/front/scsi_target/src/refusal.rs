//! Reason and details of a fault, for the counters and the log of refusals.

use crate::sense::{CopyCause, Fault, TokenFault};
use block::BlockError;
use unit::{Holder, Reason, StoreError};

/// Reason of a fault; `None` for what is not a refusal: a miscompare, and a unit attention that was
/// pending.
pub(crate) fn reason(fault: &Fault) -> Option<Reason> {
    Some(match fault {
        Fault::Miscompare { .. } | Fault::UnitAttention(_) => return None,
        Fault::InvalidOperationCode
        | Fault::InvalidFieldInCdb(_)
        | Fault::InvalidRelease
        | Fault::SavingNotSupported
        | Fault::SanitizeExitRestricted
        | Fault::MediumRemovalPrevented
        | Fault::InvalidTaskAttribute
        | Fault::SetTargetPortGroupsFailed(_) => Reason::InvalidField,
        Fault::NotAccessible(_) => Reason::NotAccessible,
        Fault::Cleared => Reason::Cleared,
        Fault::InvalidFieldInParameterList(_)
        | Fault::UnsupportedCscd { .. }
        | Fault::UnsupportedSegment { .. }
        | Fault::InlineData { .. } => Reason::BadDescriptor,
        Fault::ParameterListLength { .. }
        | Fault::DataOutLength { .. }
        | Fault::PartialBlock { .. }
        | Fault::WrongDirection
        | Fault::DataOutMissing { .. } => Reason::BadLength,
        Fault::AboveLimit { .. }
        | Fault::TooManyCscds { .. }
        | Fault::TooManySegments { .. }
        | Fault::InsufficientResources
        | Fault::NoResourcesForToken
        | Fault::InsufficientRegistrationResources
        | Fault::Block(BlockError::TooLong { .. }) => Reason::OverLimit,
        Fault::TaskAborted => Reason::Aborted,
        Fault::Token(_) => Reason::InvalidToken,
        Fault::SegmentGranularity { .. } => Reason::Misaligned,
        Fault::OutOfRange { .. } | Fault::Block(BlockError::OutOfRange { .. }) => Reason::OutOfRange,
        Fault::ReservationConflict(_) => Reason::ReservedByAnother,
        Fault::SoftwareWriteProtected | Fault::Block(BlockError::ReadOnly) => Reason::WriteProtected,
        Fault::MediumNotPresent => Reason::MediumNotPresent,
        Fault::SanitizeInProgress { .. } | Fault::SanitizeFailed => Reason::Sanitizing,
        Fault::ListIdInUse { .. } => Reason::ListIdInUse,
        Fault::LogicalUnitNotSupported | Fault::Block(BlockError::Gone) => Reason::VolumeGone,
        Fault::NoResourcesForRod => Reason::NoSpace,
        Fault::Block(BlockError::PoolFull)
        | Fault::ReservationsNotStored(StoreError::NoRoom)
        | Fault::SanitizeNotStored(StoreError::NoRoom) => Reason::NoSpace,
        Fault::Block(BlockError::ReadFailed { .. } | BlockError::SourceReadFailed { .. }) => Reason::MediaError,
        Fault::Block(BlockError::ForeignSource) => Reason::BadDescriptor,
        Fault::Block(BlockError::Internal { .. }) => Reason::InternalError,
        Fault::Block(BlockError::PoolStopped { .. })
        | Fault::ReservationsNotStored(StoreError::Failed)
        | Fault::SanitizeNotStored(StoreError::Failed) => Reason::PoolStopped,
        Fault::CopyAborted { cause, .. } => match cause {
            CopyCause::NoSuchCscd { .. } | CopyCause::WrongDeviceType { .. } => Reason::BadDescriptor,
            CopyCause::NotVisible { .. } => Reason::NotGranted,
            CopyCause::Source(fault) | CopyCause::Destination(fault) => return reason(fault),
        },
    })
}

/// Holder of the reservation that caused a fault, as it was then.
pub(crate) fn holder(fault: &Fault) -> Option<&Holder> {
    match fault {
        Fault::ReservationConflict(holder) => holder.as_deref(),
        Fault::CopyAborted { cause: CopyCause::Source(fault) | CopyCause::Destination(fault), .. } => holder(fault),
        _ => None,
    }
}

/// Details of a fault as text.
pub(crate) fn detail(fault: &Fault) -> String {
    let field = |at: &scsi::FieldPointer| match (at.area, at.bit) {
        (scsi::FieldArea::Cdb, Some(bit)) => format!("CDB byte {} bit {bit}", at.byte),
        (scsi::FieldArea::Cdb, None) => format!("CDB byte {}", at.byte),
        (scsi::FieldArea::ParameterList, _) => format!("parameter list byte {}", at.byte),
        (scsi::FieldArea::SegmentDescriptor, _) => format!("segment descriptor byte {}", at.byte),
    };
    match fault {
        Fault::InvalidFieldInCdb(at) | Fault::InvalidFieldInParameterList(at) => field(at),
        Fault::AboveLimit { requested, limit, at } => format!("{requested} asked for, limit {limit} ({})", field(at)),
        Fault::ParameterListLength { given_bytes, needed_bytes } => {
            format!("parameter list of {given_bytes} bytes, {needed_bytes} needed")
        }
        Fault::DataOutLength { expected_bytes, needed_bytes, .. } => {
            format!("{expected_bytes} bytes of data announced, {needed_bytes} needed")
        }
        Fault::WrongDirection => "the transport announced data in the other direction".to_owned(),
        Fault::PartialBlock { expected_bytes } => format!("{expected_bytes} bytes are not a whole number of blocks"),
        Fault::DataOutMissing { arrived_bytes, needed_bytes } => {
            format!("{arrived_bytes} bytes of data arrived, {needed_bytes} needed")
        }
        Fault::OutOfRange { lba, count, device_blocks } => {
            format!("blocks {lba}+{count}, the volume has {device_blocks}")
        }
        Fault::ListIdInUse { list_id } => format!("list identifier {list_id}"),
        Fault::TooManyCscds { count, limit } => {
            format!("{count} copy source and destination descriptors, limit {limit}")
        }
        Fault::TooManySegments { count, limit } => format!("{count} segment descriptors, limit {limit}"),
        Fault::UnsupportedCscd { descriptor_type, at } | Fault::UnsupportedSegment { descriptor_type, at } => {
            format!("descriptor type {descriptor_type:02x}h at {}", field(at))
        }
        Fault::InlineData { bytes } => format!("{bytes} bytes of inline data"),
        Fault::Token(fault) => token_detail(*fault).to_owned(),
        Fault::SegmentGranularity { at } => format!("not a whole number of blocks ({})", field(at)),
        Fault::CopyAborted { segment, cause } => match cause {
            CopyCause::NoSuchCscd { index, .. } => {
                format!("segment {segment} names descriptor {index}, not in the list")
            }
            CopyCause::NotVisible { index, .. } => {
                format!("segment {segment}: no granted volume has the designator of descriptor {index}")
            }
            CopyCause::WrongDeviceType { index } => {
                format!("segment {segment}: device type or block length of descriptor {index}")
            }
            CopyCause::Source(fault) => format!("segment {segment}, source: {}", detail(fault)),
            CopyCause::Destination(fault) => format!("segment {segment}, destination: {}", detail(fault)),
        },
        Fault::Block(error) => error.to_string(),
        Fault::SanitizeInProgress { .. } => "a sanitize operation is in progress".to_owned(),
        Fault::SanitizeFailed => "a sanitize operation has failed".to_owned(),
        Fault::InvalidOperationCode
        | Fault::LogicalUnitNotSupported
        | Fault::Miscompare { .. }
        | Fault::ReservationConflict(_)
        | Fault::InvalidRelease
        | Fault::InsufficientRegistrationResources
        | Fault::ReservationsNotStored(_)
        | Fault::SanitizeNotStored(_)
        | Fault::UnitAttention(_)
        | Fault::Cleared
        | Fault::SoftwareWriteProtected
        | Fault::NotAccessible(_)
        | Fault::SetTargetPortGroupsFailed(_)
        | Fault::InvalidTaskAttribute
        | Fault::MediumNotPresent
        | Fault::MediumRemovalPrevented
        | Fault::TaskAborted
        | Fault::InsufficientResources
        | Fault::NoResourcesForRod
        | Fault::NoResourcesForToken
        | Fault::SanitizeExitRestricted
        | Fault::SavingNotSupported => reason(fault).map(|reason| reason.to_string()).unwrap_or_default(),
    }
}

fn token_detail(fault: TokenFault) -> &'static str {
    match fault {
        TokenFault::UnsupportedType => "its ROD type is not supported",
        TokenFault::InvalidLength => "its length is wrong",
        TokenFault::Unknown => "there is no such token for this initiator",
        TokenFault::Corrupt => "this array did not create it, or it was altered",
        TokenFault::Revoked => "the source is not granted to the initiator any more",
        TokenFault::Expired => "it has expired",
        TokenFault::Cancelled => "its source was deleted, or the pool needed the space",
        TokenFault::Deleted => "it was used with DEL_TKN",
    }
}
