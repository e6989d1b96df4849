//! Callbacks, RFC 8881 §20 and RFC 7862 §16: what a server sends on the back channel of a session.
//! The program is the one that CREATE_SESSION names, in version 1.

use std::num::NonZeroU32;

use xdr::{Array, Failure, Reader, Writer, XdrError, types};

use super::attributes::Fattr;
use super::compound::{ILLEGAL, operations};
use super::offload::WriteResponse;
use super::operations::{Class, Needs, OperationRow, UnservedRow};
use super::{Bitmap, Done, Filehandle, SessionId, StateOwner, Stateid, Status};

/// Version of the program.
pub const VERSION: u32 = 1;
/// Procedure that does nothing (§20.1).
pub const PROCEDURE_NULL: u32 = 0;
/// Procedure of all operations (§20.2).
pub const PROCEDURE_COMPOUND: u32 = 1;
/// Most referring calls, or lists of them, that are decoded.
const MAX_REFERRING: u32 = 1024;

types! {
    /// `CB_GETATTR4args` (§20.1).
    struct GetAttributesArguments {
        /// Delegated file.
        file: Filehandle,
        /// Wanted attributes.
        wanted: Bitmap,
    }

    /// `CB_RECALL4args` (§20.2).
    struct RecallArguments {
        /// Delegation.
        stateid: Stateid,
        /// Whether the file will be truncated.
        truncate: bool,
        /// Delegated file.
        file: Filehandle,
    }

    /// `CB_RECALL_ANY4args` (§20.6).
    struct RecallAnyArguments {
        /// Number of objects that the client may keep.
        keep: u32,
        /// Kinds of objects.
        kinds: Bitmap,
    }

    /// Call that a callback is about: `referring_call4` (§20.9).
    struct ReferringCall {
        /// Sequence id of the slot.
        sequence: u32,
        /// Slot.
        slot: u32,
    }

    /// `referring_call_list4` (§20.9).
    struct ReferringCalls {
        /// Session.
        session: SessionId,
        /// Its calls.
        calls: Array<ReferringCall, MAX_REFERRING>,
    }

    /// `CB_SEQUENCE4args` (§20.9).
    struct SequenceArguments {
        /// Session.
        session: SessionId,
        /// Sequence id of the slot.
        sequence: u32,
        /// Slot.
        slot: u32,
        /// Highest slot that the server uses.
        highest_slot: u32,
        /// Whether the reply must be cached.
        cache_this: bool,
        /// Calls whose replies may still be on their way.
        referring: Array<ReferringCalls, MAX_REFERRING>,
    }

    /// `CB_SEQUENCE4resok` (§20.9).
    struct SequenceOk {
        /// Session.
        session: SessionId,
        /// Sequence id of the slot.
        sequence: u32,
        /// Slot.
        slot: u32,
        /// Highest slot that the client accepts.
        highest_slot: u32,
        /// Highest slot that the server should use.
        target_highest_slot: u32,
    }

    /// `CB_NOTIFY_LOCK4args` (§20.11).
    struct NotifyLockArguments {
        /// File.
        file: Filehandle,
        /// Owner that waits for a lock.
        owner: StateOwner,
    }

    /// `CB_OFFLOAD4args` (RFC 7862 §16.1).
    struct OffloadArguments {
        /// Destination of the copy.
        file: Filehandle,
        /// Name of the copy.
        stateid: Stateid,
        /// Outcome: `offload_info4`.
        outcome: Result<WriteResponse, OffloadFailure>,
    }
}

/// How a copy failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadFailure {
    /// Why.
    pub status: Status,
    /// Number of bytes that were copied.
    pub copied_bytes: u64,
}

impl Failure for OffloadFailure {
    fn code(&self) -> NonZeroU32 {
        self.status.code()
    }
    fn encode_details(&self, writer: &mut Writer) {
        writer.u64(self.copied_bytes);
    }
    fn decode_details(code: NonZeroU32, reader: &mut Reader) -> Result<Self, XdrError> {
        Ok(Self { status: Status::decode_details(code, reader)?, copied_bytes: reader.u64()? })
    }
}

#[cfg(any(test, feature = "testing"))]
impl xdr::Sample for OffloadFailure {
    fn sample(random: &xdr::Random) -> Self {
        Self { status: xdr::Sample::sample(random), copied_bytes: xdr::Sample::sample(random) }
    }
}

operations! {
    /// Operation of a callback with its arguments.
    CallbackOperation,
    /// Results of an operation of a callback.
    CallbackOutcome,
    /// Operations with types here, by number.
    OPERATIONS,
    /// Operations without types here, by number.
    UNSERVED,
    /// A compound from a server.
    callback: true;

    /// Attributes of a delegated file, §20.1.
    3 => GetAttributes "CB_GETATTR" 1 Nothing Plain (arguments: GetAttributesArguments) -> Result<Fattr, Status>,
    /// Recalls a delegation, §20.2.
    4 => Recall "CB_RECALL" 1 Nothing Plain (arguments: RecallArguments) -> Done,
    /// Recalls some of the client's objects, §20.6.
    8 => RecallAny "CB_RECALL_ANY" 1 Nothing Plain (arguments: RecallAnyArguments) -> Done,
    /// Wants the client to use fewer slots: the highest one, §20.8.
    10 => RecallSlot "CB_RECALL_SLOT" 1 Nothing Plain (target_highest_slot: u32) -> Done,
    /// Slot of the back channel, §20.9.
    11 => Sequence "CB_SEQUENCE" 1 Nothing Plain (arguments: SequenceArguments) -> Result<SequenceOk, Status>,
    /// A lock may be free, §20.11.
    13 => NotifyLock "CB_NOTIFY_LOCK" 1 Nothing Plain (arguments: NotifyLockArguments) -> Done,
    /// A copy has ended, RFC 7862 §16.1.
    15 => Offload "CB_OFFLOAD" 2 Nothing Plain (arguments: Box<OffloadArguments>) -> Done,
    ;
    5 "CB_LAYOUTRECALL" 1,
    6 "CB_NOTIFY" 1,
    7 "CB_PUSH_DELEG" 1,
    9 "CB_RECALLABLE_OBJ_AVAIL" 1,
    12 "CB_WANTS_CANCELLED" 1,
    14 "CB_NOTIFY_DEVICEID" 1,
}
