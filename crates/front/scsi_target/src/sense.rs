//! Mapping of faults to status and sense data (SAM-5 §5.3, SPC-4 §4.5). Every command reports its
//! failure as a [`Fault`], and only this file says which codes a fault has. Unit attentions are their
//! additional sense codes from the event that raises them on.

use block::BlockError;
use scsi::{AdditionalSense, FieldPointer, FixedSense, SenseKey, Status};
use unit::{AccessState, AccessStateError, Holder, SanitizeError, StoreError};

/// Reason why a command did not complete with GOOD status.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// No row of the command table has this operation code, or the command needs a setting that is off.
    InvalidOperationCode,
    /// A reserved bit is set, or a value is not supported.
    InvalidFieldInCdb(FieldPointer),
    /// A value in the parameter list is not supported.
    InvalidFieldInParameterList(FieldPointer),
    /// A count is above its announced limit; `at` is its field in the CDB or the parameter list.
    AboveLimit { requested: u64, limit: u64, at: FieldPointer },
    /// The parameter list is shorter than its content requires, or longer than allowed.
    ParameterListLength { given_bytes: u64, needed_bytes: u64 },
    /// The transport expects another amount of Data-Out than the command needs.
    DataOutLength { expected_bytes: u64, needed_bytes: u64, at: FieldPointer },
    /// The transport expects data in the other direction than the command moves it.
    WrongDirection,
    /// The transport would cut Data-Out inside a logical block.
    PartialBlock { expected_bytes: u64 },
    /// Less Data-Out arrived than the transport announced.
    DataOutMissing { arrived_bytes: u64, needed_bytes: u64 },
    /// Blocks beyond the end of the logical unit.
    OutOfRange { lba: u64, count: u64, device_blocks: u64 },
    /// No logical unit at this LUN.
    LogicalUnitNotSupported,
    /// The data differs from the medium; offset in bytes of the first difference.
    Miscompare { offset_bytes: u64 },
    /// A reservation forbids the command. Its holder at that time, if it is one of an initiator; `None`: the command
    /// does not fit the registrations.
    ReservationConflict(Option<Box<Holder>>),
    /// RELEASE with another scope or type than the persistent reservation has.
    InvalidRelease,
    /// No room for one more registration.
    InsufficientRegistrationResources,
    /// Persistent reservations that have to survive a power loss could not be stored; those in effect
    /// have not changed.
    ReservationsNotStored(StoreError),
    /// Begin or end of a sanitize operation could not be stored; the state in effect has not changed.
    SanitizeNotStored(StoreError),
    /// A pending unit attention, reported once instead of executing the command.
    UnitAttention(AdditionalSense),
    /// The content changed after the command arrived: the volume was rolled back or sanitized.
    Cleared,
    /// SWP is set.
    SoftwareWriteProtected,
    /// The target port's state does not permit the command.
    NotAccessible(AccessState),
    /// SET TARGET PORT GROUPS failed; the states in effect have not changed.
    SetTargetPortGroupsFailed(AccessStateError),
    /// A task attribute that does not exist here.
    InvalidTaskAttribute,
    /// The medium is ejected.
    MediumNotPresent,
    /// An I_T nexus prevents removal.
    MediumRemovalPrevented,
    /// A sanitize operation is in progress; `progress` in 1/65 536.
    SanitizeInProgress { progress: u16 },
    /// A sanitize operation has failed.
    SanitizeFailed,
    /// A sanitize operation failed in restricted completion mode (AUSE = 0), which the command
    /// would leave.
    SanitizeExitRestricted,
    /// Saved mode page values do not exist.
    SavingNotSupported,
    /// Another copy with this list identifier is running on the I_T nexus.
    ListIdInUse { list_id: u32 },
    /// More CSCD descriptors than allowed.
    TooManyCscds { count: u64, limit: u64 },
    /// More segment descriptors than allowed.
    TooManySegments { count: u64, limit: u64 },
    /// A CSCD descriptor type that is not implemented.
    UnsupportedCscd { descriptor_type: u8, at: FieldPointer },
    /// A segment descriptor type that is not implemented.
    UnsupportedSegment { descriptor_type: u8, at: FieldPointer },
    /// Inline data is not supported.
    InlineData { bytes: u32 },
    /// A segment is not a whole number of granules.
    SegmentGranularity { at: FieldPointer },
    /// A copy stopped at `segment`; what earlier segments copied stays.
    CopyAborted { segment: u16, cause: CopyCause },
    /// A task management function or COPY OPERATION ABORT ended this command.
    TaskAborted,
    /// The limit of concurrent third-party copies is reached.
    InsufficientResources,
    /// The pool has no room for the blocks that a ROD may come to hold.
    NoResourcesForRod,
    /// The limit of ROD tokens is reached.
    NoResourcesForToken,
    /// A ROD token cannot be used.
    Token(TokenFault),
    /// The block device failed the call.
    Block(BlockError),
}

/// Defect of a ROD token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    /// The copy manager does not support its ROD type.
    UnsupportedType,
    /// ROD TOKEN LENGTH is wrong.
    InvalidLength,
    /// The token does not exist, belongs to another initiator, or was created by an earlier run of
    /// the copy manager.
    Unknown,
    /// The token was altered: its authenticator does not match.
    Corrupt,
    /// The initiator no longer has access to the source.
    Revoked,
    /// Inactivity timeout or lifetime has passed.
    Expired,
    /// The source was deleted, or the pool needs the space.
    Cancelled,
    /// A WRITE USING TOKEN deleted the token.
    Deleted,
}

impl From<TokenFault> for Fault {
    fn from(fault: TokenFault) -> Self {
        Self::Token(fault)
    }
}

/// Reason why a copy stopped after it had started.
#[derive(Clone, Debug)]
pub(crate) enum CopyCause {
    /// The segment names a CSCD that is not in the list.
    NoSuchCscd { index: u16, at: FieldPointer },
    /// No logical unit with this designator is visible to the initiator.
    NotVisible { index: u16, at: FieldPointer },
    /// The descriptor's device type or block length differs from the logical unit's.
    WrongDeviceType { index: u16 },
    /// The source refused the read.
    Source(Box<Fault>),
    /// The destination refused the write.
    Destination(Box<Fault>),
}

impl From<BlockError> for Fault {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::OutOfRange { lba, count, device_blocks } => Self::OutOfRange { lba, count, device_blocks },
            other => Self::Block(other),
        }
    }
}

impl From<SanitizeError> for Fault {
    fn from(error: SanitizeError) -> Self {
        match error {
            SanitizeError::InProgress { progress } => Self::SanitizeInProgress { progress },
            SanitizeError::Failed => Self::SanitizeFailed,
            SanitizeError::ExitRestricted => Self::SanitizeExitRestricted,
            SanitizeError::NotStored(error) | SanitizeError::ExitNotStored(error) => Self::SanitizeNotStored(error),
        }
    }
}

/// Status and sense data of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub status: Status,
    pub sense: Option<FixedSense>,
}

impl Outcome {
    /// Status byte followed by the sense data, as a copy manager forwards them.
    fn forwarded(&self) -> Vec<u8> {
        let mut bytes = vec![self.status.0];
        if let Some(sense) = &self.sense {
            bytes.extend_from_slice(&sense.encode());
        }
        bytes
    }

    /// Encoded sense data; empty when the status carries none.
    pub fn sense_bytes(&self) -> Vec<u8> {
        self.sense.as_ref().map(FixedSense::encode).unwrap_or_default()
    }
}

fn check(key: SenseKey, additional: AdditionalSense) -> FixedSense {
    FixedSense::new(key, additional)
}

fn illegal(additional: AdditionalSense) -> FixedSense {
    check(SenseKey::ILLEGAL_REQUEST, additional)
}

fn illegal_field(additional: AdditionalSense, at: FieldPointer) -> FixedSense {
    FixedSense { field: Some(at), ..illegal(additional) }
}

fn invalid_field(at: FieldPointer) -> FixedSense {
    match at.area {
        scsi::FieldArea::Cdb => illegal_field(AdditionalSense::INVALID_FIELD_IN_CDB, at),
        scsi::FieldArea::ParameterList | scsi::FieldArea::SegmentDescriptor => {
            illegal_field(AdditionalSense::INVALID_FIELD_IN_PARAMETER_LIST, at)
        }
    }
}

/// Maps a fault to status and sense data. No `_` arm: a new fault has to choose.
pub(crate) fn outcome(fault: &Fault) -> Outcome {
    use AdditionalSense as Asc;
    let sense = match fault {
        Fault::ReservationConflict(_) => return Outcome { status: Status::RESERVATION_CONFLICT, sense: None },
        Fault::TaskAborted => return Outcome { status: Status::TASK_ABORTED, sense: None },
        Fault::InvalidOperationCode => illegal(Asc::INVALID_COMMAND_OPERATION_CODE),
        Fault::InvalidFieldInCdb(at) | Fault::InvalidFieldInParameterList(at) => invalid_field(*at),
        Fault::AboveLimit { at, .. } | Fault::DataOutLength { at, .. } => invalid_field(*at),
        Fault::ParameterListLength { .. } => illegal(Asc::PARAMETER_LIST_LENGTH_ERROR),
        Fault::PartialBlock { .. } | Fault::WrongDirection => illegal(Asc::INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT),
        Fault::DataOutMissing { .. } => check(SenseKey::ABORTED_COMMAND, Asc::DATA_PHASE_ERROR),
        Fault::OutOfRange { .. } => illegal(Asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE),
        Fault::LogicalUnitNotSupported => illegal(Asc::LOGICAL_UNIT_NOT_SUPPORTED),
        Fault::Miscompare { offset_bytes } => FixedSense {
            information: Some(*offset_bytes),
            ..check(SenseKey::MISCOMPARE, Asc::MISCOMPARE_DURING_VERIFY_OPERATION)
        },
        Fault::InvalidRelease => illegal(Asc::INVALID_RELEASE_OF_PERSISTENT_RESERVATION),
        Fault::InsufficientRegistrationResources | Fault::ReservationsNotStored(StoreError::NoRoom) => {
            illegal(Asc::INSUFFICIENT_REGISTRATION_RESOURCES)
        }
        Fault::SanitizeNotStored(StoreError::NoRoom) => {
            check(SenseKey::DATA_PROTECT, Asc::SPACE_ALLOCATION_FAILED_WRITE_PROTECT)
        }
        Fault::ReservationsNotStored(StoreError::Failed) | Fault::SanitizeNotStored(StoreError::Failed) => {
            check(SenseKey::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE)
        }
        Fault::SanitizeInProgress { progress } => FixedSense {
            progress: Some(*progress),
            ..check(SenseKey::NOT_READY, Asc::LOGICAL_UNIT_NOT_READY_SANITIZE_IN_PROGRESS)
        },
        Fault::SanitizeFailed => check(SenseKey::MEDIUM_ERROR, Asc::SANITIZE_COMMAND_FAILED),
        Fault::SanitizeExitRestricted => invalid_field(FieldPointer::cdb_bit(1, 5)),
        Fault::UnitAttention(additional) => check(SenseKey::UNIT_ATTENTION, *additional),
        Fault::Cleared => check(SenseKey::UNIT_ATTENTION, Asc::COMMANDS_CLEARED_BY_DEVICE_SERVER),
        Fault::SoftwareWriteProtected => check(SenseKey::DATA_PROTECT, Asc::LOGICAL_UNIT_SOFTWARE_WRITE_PROTECTED),
        Fault::NotAccessible(state) => match state {
            AccessState::Standby => {
                check(SenseKey::NOT_READY, Asc::LOGICAL_UNIT_NOT_ACCESSIBLE_TARGET_PORT_IN_STANDBY_STATE)
            }
            AccessState::Unavailable => {
                check(SenseKey::NOT_READY, Asc::LOGICAL_UNIT_NOT_ACCESSIBLE_TARGET_PORT_IN_UNAVAILABLE_STATE)
            }
            AccessState::Transitioning | AccessState::ActiveOptimized | AccessState::ActiveNonOptimized => {
                check(SenseKey::NOT_READY, Asc::LOGICAL_UNIT_NOT_ACCESSIBLE_ASYMMETRIC_ACCESS_STATE_TRANSITION)
            }
        },
        Fault::SetTargetPortGroupsFailed(AccessStateError::LastPath | AccessStateError::Failed) => {
            check(SenseKey::HARDWARE_ERROR, Asc::SET_TARGET_PORT_GROUPS_COMMAND_FAILED)
        }
        Fault::InvalidTaskAttribute => illegal(Asc::INVALID_MESSAGE_ERROR),
        Fault::MediumNotPresent => check(SenseKey::NOT_READY, Asc::MEDIUM_NOT_PRESENT),
        Fault::MediumRemovalPrevented => illegal(Asc::MEDIUM_REMOVAL_PREVENTED),
        Fault::SavingNotSupported => illegal(Asc::SAVING_PARAMETERS_NOT_SUPPORTED),
        Fault::ListIdInUse { .. } => illegal(Asc::OPERATION_IN_PROGRESS),
        Fault::TooManyCscds { .. } => illegal(Asc::TOO_MANY_TARGET_DESCRIPTORS),
        Fault::TooManySegments { .. } => illegal(Asc::TOO_MANY_SEGMENT_DESCRIPTORS),
        Fault::UnsupportedCscd { at, .. } => illegal_field(Asc::UNSUPPORTED_TARGET_DESCRIPTOR_TYPE_CODE, *at),
        Fault::UnsupportedSegment { at, .. } => illegal_field(Asc::UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE_CODE, *at),
        Fault::InlineData { .. } => illegal(Asc::INLINE_DATA_LENGTH_EXCEEDED),
        Fault::SegmentGranularity { at } => illegal_field(Asc::COPY_SEGMENT_GRANULARITY_VIOLATION, *at),
        Fault::CopyAborted { segment, cause } => copy_aborted(*segment, cause),
        Fault::InsufficientResources => illegal(Asc::INSUFFICIENT_RESOURCES),
        Fault::NoResourcesForRod => illegal(Asc::INSUFFICIENT_RESOURCES_TO_CREATE_ROD),
        Fault::NoResourcesForToken => illegal(Asc::INSUFFICIENT_RESOURCES_TO_CREATE_ROD_TOKEN),
        Fault::Token(fault) => illegal(match fault {
            TokenFault::UnsupportedType => Asc::INVALID_TOKEN_OPERATION_UNSUPPORTED_TOKEN_TYPE,
            TokenFault::InvalidLength => Asc::INVALID_TOKEN_OPERATION_INVALID_TOKEN_LENGTH,
            TokenFault::Unknown => Asc::INVALID_TOKEN_OPERATION_TOKEN_UNKNOWN,
            TokenFault::Corrupt => Asc::INVALID_TOKEN_OPERATION_TOKEN_CORRUPT,
            TokenFault::Revoked => Asc::INVALID_TOKEN_OPERATION_TOKEN_REVOKED,
            TokenFault::Expired => Asc::INVALID_TOKEN_OPERATION_TOKEN_EXPIRED,
            TokenFault::Cancelled => Asc::INVALID_TOKEN_OPERATION_TOKEN_CANCELLED,
            TokenFault::Deleted => Asc::INVALID_TOKEN_OPERATION_TOKEN_DELETED,
        }),
        Fault::Block(error) => match error {
            BlockError::OutOfRange { .. } => illegal(Asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE),
            BlockError::TooLong { .. } => illegal(Asc::INVALID_FIELD_IN_CDB),
            BlockError::PoolFull => check(SenseKey::DATA_PROTECT, Asc::SPACE_ALLOCATION_FAILED_WRITE_PROTECT),
            BlockError::ReadOnly => check(SenseKey::DATA_PROTECT, Asc::WRITE_PROTECTED),
            BlockError::ReadFailed { lba } => {
                FixedSense { information: Some(*lba), ..check(SenseKey::MEDIUM_ERROR, Asc::UNRECOVERED_READ_ERROR) }
            }
            // The commands that copy name the source themselves.
            BlockError::SourceReadFailed { .. } => {
                FixedSense::new(SenseKey::COPY_ABORTED, Asc::THIRD_PARTY_DEVICE_FAILURE)
            }
            BlockError::PoolStopped { .. } | BlockError::Internal { .. } => {
                check(SenseKey::HARDWARE_ERROR, Asc::INTERNAL_TARGET_FAILURE)
            }
            BlockError::Gone => illegal(Asc::LOGICAL_UNIT_NOT_SUPPORTED),
            BlockError::ForeignSource => FixedSense::new(SenseKey::COPY_ABORTED, Asc::COPY_TARGET_DEVICE_NOT_REACHABLE),
        },
    };
    Outcome { status: Status::CHECK_CONDITION, sense: Some(sense) }
}

/// COPY ABORTED: COMMAND-SPECIFIC INFORMATION holds the offsets of the forwarded status of source
/// and destination in the sense data, and the segment number (SPC-4 §6.4.4).
fn copy_aborted(segment: u16, cause: &CopyCause) -> FixedSense {
    use AdditionalSense as Asc;
    const FORWARDED_AT: u8 = FixedSense::BYTES as u8;
    let mut sense = FixedSense::new(SenseKey::COPY_ABORTED, Asc::COPY_TARGET_DEVICE_NOT_REACHABLE);
    let [high, low] = segment.to_be_bytes();
    sense.command_specific = [0, 0, high, low];
    let forward = |sense: &mut FixedSense, fault: &Fault| {
        // Conformance suites accept a range error of a CSCD only without an additional sense code;
        // the forwarded sense data has the code.
        sense.additional = match fault {
            Fault::OutOfRange { .. } => Asc::NO_ADDITIONAL_SENSE_INFORMATION,
            _ => Asc::THIRD_PARTY_DEVICE_FAILURE,
        };
        sense.forwarded = outcome(fault).forwarded();
    };
    match cause {
        CopyCause::NoSuchCscd { at, .. } | CopyCause::NotVisible { at, .. } => sense.field = Some(*at),
        CopyCause::WrongDeviceType { .. } => sense.additional = Asc::INCORRECT_COPY_TARGET_DEVICE_TYPE,
        CopyCause::Source(fault) => {
            forward(&mut sense, fault);
            sense.command_specific = [FORWARDED_AT, 0, high, low];
        }
        CopyCause::Destination(fault) => {
            forward(&mut sense, fault);
            sense.command_specific = [0, FORWARDED_AT, high, low];
        }
    }
    sense
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn reservation_conflict_carries_no_sense_data() {
        let outcome = outcome(&Fault::ReservationConflict(None));
        assert_eq!((outcome.status, outcome.sense_bytes().len()), (Status::RESERVATION_CONFLICT, 0));
    }

    #[test]
    fn copy_aborted_forwards_the_destination_status() {
        let conflict = Box::new(Fault::ReservationConflict(None));
        let fault = Fault::CopyAborted { segment: 1, cause: CopyCause::Destination(conflict) };
        assert_eq!(outcome(&fault).sense_bytes(), hex!("70 00 0a 00 00 00 00 0b 00 12 00 01 0d 01 00 00 00 00 18"));
    }

    #[test]
    fn a_full_pool_is_a_space_allocation_failure() {
        let outcome = outcome(&Fault::Block(BlockError::PoolFull));
        assert_eq!(outcome.sense_bytes().get(..14), Some(&hex!("70 00 07 00 00 00 00 0a 00 00 00 00 27 07")[..]));
    }
}
