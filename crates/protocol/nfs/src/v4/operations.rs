//! The operations of a COMPOUND as a table, RFC 8881 §18, RFC 7862 §15, RFC 8276 §8.4; and their
//! arguments and results as enums.
//!
//! A row has the facts of an operation that do not depend on a server. Operations without a row,
//! [`UNSERVED`], are known by number and name only: a server fails them, and the compound stops
//! there, so that their arguments need not be understood.

use super::attributes::{Fattr, GetAttributesArguments, SetAttributesArguments, SetAttributesResults};
use super::compound::{ILLEGAL, operations};
use super::{Bitmap, ChangeInfo, Done, Filehandle, Name, SessionId, Stateid, Status, Text, Verifier};
use super::{handles, io, locks, names, offload, open, session, xattr};

/// Handles that an operation needs; without them it fails with `NOFILEHANDLE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// The current one.
    Current,
    /// The saved one.
    Saved,
    /// Both.
    CurrentAndSaved,
}

/// What an operation does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing of the following.
    Plain,
    /// Changes files or directories whatever its arguments say, and is refused on a read-only
    /// share. OPEN is not of this class, as it depends on its arguments.
    Changes,
    /// Without a SEQUENCE before it, it must be the only operation: `NOT_ONLY_OP` (§18.35.3).
    Alone,
}

/// Facts of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationRow {
    /// Number.
    pub code: u32,
    /// Name in the standard, without prefix.
    pub name: &'static str,
    /// First minor version that has it.
    pub first_minor: u32,
    /// Handles that it needs.
    pub needs: Needs,
    /// What it does besides.
    pub class: Class,
}

/// Operation that is known by number and name only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnservedRow {
    /// Number.
    pub code: u32,
    /// Name in the standard, without prefix.
    pub name: &'static str,
    /// First minor version that has it.
    pub first_minor: u32,
}

operations! {
    /// Operation with its arguments.
    Operation,
    /// Results of an operation.
    Outcome,
    /// Operations with types here, by number.
    OPERATIONS,
    /// Operations without types here, by number. Those of minor version 0 must not be implemented in
    /// NFSv4.1 (§18, MNI).
    UNSERVED,
    /// A compound from a client.
    callback: false;

    /// Permissions of the caller, §18.1.
    3 => Access "ACCESS" 1 Current Plain (arguments: handles::AccessArguments) -> Result<handles::AccessOk, Status>,
    /// Ends an open, §18.2.
    4 => Close "CLOSE" 1 Current Plain (arguments: open::CloseArguments) -> Result<Stateid, Status>,
    /// Makes written data durable, §18.3.
    5 => Commit "COMMIT" 1 Current Plain (arguments: io::CommitArguments) -> Result<Verifier, Status>,
    /// Creates what is not a regular file, §18.4.
    6 => Create "CREATE" 1 Current Changes (arguments: Box<names::CreateArguments>) -> Result<names::CreateOk, Status>,
    /// Returns a delegation, §18.6.
    8 => ReturnDelegation "DELEGRETURN" 1 Current Plain (stateid: Stateid) -> Done,
    /// Attributes, §18.7.
    9 => GetAttributes "GETATTR" 1 Current Plain (arguments: GetAttributesArguments) -> Result<Fattr, Status>,
    /// The current handle, §18.8.
    10 => GetFilehandle "GETFH" 1 Current Plain -> Result<Filehandle, Status>,
    /// Gives the saved file a name in the current directory, §18.9.
    11 => Link "LINK" 1 CurrentAndSaved Changes (name: Name) -> Result<ChangeInfo, Status>,
    /// Locks bytes, §18.10.
    12 => Lock "LOCK" 1 Current Plain (arguments: Box<locks::LockArguments>) -> Result<Stateid, locks::LockFailure>,
    /// Tests whether bytes could be locked, §18.11.
    13 => LockTest "LOCKT" 1 Current Plain (arguments: locks::LockTestArguments) -> Result<(), locks::LockFailure>,
    /// Unlocks bytes, §18.12.
    14 => Unlock "LOCKU" 1 Current Plain (arguments: locks::UnlockArguments) -> Result<Stateid, Status>,
    /// Goes to a name in the current directory, §18.13.
    15 => Lookup "LOOKUP" 1 Current Plain (name: Name) -> Done,
    /// Goes to the parent, §18.14.
    16 => LookupParent "LOOKUPP" 1 Current Plain -> Done,
    /// Fails if attributes are the same, §18.15.
    17 => VerifyDifferent "NVERIFY" 1 Current Plain (attributes: Fattr) -> Done,
    /// Opens a file, §18.16.
    18 => Open "OPEN" 1 Current Plain (arguments: Box<open::OpenArguments>) -> Result<Box<open::OpenOk>, Status>,
    /// Goes to the directory of named attributes, §18.17.
    19 => OpenAttributes "OPENATTR" 1 Current Plain (create: bool) -> Done,
    /// Gives up access of an open, §18.18.
    21 => Downgrade "OPEN_DOWNGRADE" 1 Current Plain (arguments: open::DowngradeArguments) -> Result<Stateid, Status>,
    /// Sets the current handle, §18.19.
    22 => PutFilehandle "PUTFH" 1 Nothing Plain (handle: Filehandle) -> Done,
    /// Sets the current handle to the public one, §18.20.
    23 => PutPublicFilehandle "PUTPUBFH" 1 Nothing Plain -> Done,
    /// Sets the current handle to the root, §18.21.
    24 => PutRootFilehandle "PUTROOTFH" 1 Nothing Plain -> Done,
    /// Reads, §18.22.
    25 => Read "READ" 1 Current Plain (arguments: io::ReadArguments) -> Result<io::ReadOk, Status>,
    /// Names of the current directory, §18.23.
    26 => ReadDirectory "READDIR" 1 Current Plain (arguments: names::ReadDirectoryArguments)
        -> Result<names::ReadDirectoryOk, Status>,
    /// Target of a symbolic link, §18.24.
    27 => ReadLink "READLINK" 1 Current Plain -> Result<Text, Status>,
    /// Removes a name from the current directory, §18.25.
    28 => Remove "REMOVE" 1 Current Changes (name: Name) -> Result<ChangeInfo, Status>,
    /// Renames from the saved to the current directory, §18.26.
    29 => Rename "RENAME" 1 CurrentAndSaved Changes (arguments: names::RenameArguments)
        -> Result<names::RenameOk, Status>,
    /// Makes the saved handle the current one, §18.27.
    31 => RestoreFilehandle "RESTOREFH" 1 Saved Plain -> Done,
    /// Saves the current handle, §18.28.
    32 => SaveFilehandle "SAVEFH" 1 Current Plain -> Done,
    /// Flavors that a name wants, §18.29.
    33 => SecurityInformation "SECINFO" 1 Current Plain (name: Name) -> Result<names::SecurityFlavors, Status>,
    /// Changes attributes, §18.30.
    34 => SetAttributes "SETATTR" 1 Current Changes (arguments: SetAttributesArguments) -> SetAttributesResults,
    /// Fails if attributes differ, §18.31.
    37 => Verify "VERIFY" 1 Current Plain (attributes: Fattr) -> Done,
    /// Writes, §18.32.
    38 => Write "WRITE" 1 Current Changes (arguments: io::WriteArguments) -> Result<io::WriteOk, Status>,
    /// Changes the back channel, §18.33.
    40 => BackChannelControl "BACKCHANNEL_CTL" 1 Nothing Plain (arguments: session::BackChannelArguments) -> Done,
    /// Binds a connection to a session, §18.34.
    41 => BindConnection "BIND_CONN_TO_SESSION" 1 Nothing Alone (arguments: session::BindArguments)
        -> Result<session::BindOk, Status>,
    /// Client id of a client, §18.35.
    42 => ExchangeId "EXCHANGE_ID" 1 Nothing Alone (arguments: Box<session::ExchangeIdArguments>)
        -> Result<Box<session::ExchangeIdOk>, Status>,
    /// New session, §18.36.
    43 => CreateSession "CREATE_SESSION" 1 Nothing Alone (arguments: Box<session::CreateSessionArguments>)
        -> Result<Box<session::CreateSessionOk>, Status>,
    /// Ends a session, §18.37.
    44 => DestroySession "DESTROY_SESSION" 1 Nothing Alone (session: SessionId) -> Done,
    /// Frees a stateid, §18.38.
    45 => FreeStateid "FREE_STATEID" 1 Nothing Plain (stateid: Stateid) -> Done,
    /// Flavors that the current handle or its parent wants, §18.45.
    52 => SecurityInformationNoName "SECINFO_NO_NAME" 1 Current Plain (style: names::SecurityStyle)
        -> Result<names::SecurityFlavors, Status>,
    /// Slot of a session, first operation of most compounds, §18.46.
    53 => Sequence "SEQUENCE" 1 Nothing Plain (arguments: session::SequenceArguments)
        -> Result<session::SequenceOk, Status>,
    /// Status of stateids, §18.48.
    55 => TestStateid "TEST_STATEID" 1 Nothing Plain (stateids: session::TestStateidArguments)
        -> Result<session::TestStateidOk, Status>,
    /// Ends a client id, §18.50.
    57 => DestroyClientId "DESTROY_CLIENTID" 1 Nothing Alone (client: u64) -> Done,
    /// The client has reclaimed all, in one file system or in every one, §18.51.
    58 => ReclaimComplete "RECLAIM_COMPLETE" 1 Nothing Plain (one_file_system: bool) -> Done,
    /// Reserves a range, RFC 7862 §15.1.
    59 => Allocate "ALLOCATE" 2 Current Changes (arguments: offload::RangeArguments) -> Done,
    /// Copies a range, RFC 7862 §15.2.
    60 => Copy "COPY" 2 CurrentAndSaved Changes (arguments: Box<offload::CopyArguments>)
        -> Result<offload::CopyOk, offload::CopyFailure>,
    /// Frees a range, RFC 7862 §15.4.
    62 => Deallocate "DEALLOCATE" 2 Current Changes (arguments: offload::RangeArguments) -> Done,
    /// Announces a pattern of access, RFC 7862 §15.5.
    63 => Advise "IO_ADVISE" 2 Current Plain (arguments: io::AdviseArguments) -> Result<Bitmap, Status>,
    /// Ends a copy, RFC 7862 §15.8.
    66 => OffloadCancel "OFFLOAD_CANCEL" 2 Current Plain (stateid: Stateid) -> Done,
    /// Progress of a copy, RFC 7862 §15.9.
    67 => OffloadStatus "OFFLOAD_STATUS" 2 Current Plain (stateid: Stateid)
        -> Result<offload::OffloadStatusOk, Status>,
    /// Reads data and holes, RFC 7862 §15.10.
    68 => ReadPlus "READ_PLUS" 2 Current Plain (arguments: io::ReadArguments) -> Result<io::ReadPlusOk, Status>,
    /// Finds data or a hole, RFC 7862 §15.11.
    69 => Seek "SEEK" 2 Current Plain (arguments: io::SeekArguments) -> Result<io::SeekOk, Status>,
    /// Writes a pattern, RFC 7862 §15.12.
    70 => WriteSame "WRITE_SAME" 2 Current Changes (arguments: Box<offload::WriteSameArguments>)
        -> Result<offload::WriteResponse, Status>,
    /// Shares a range, RFC 7862 §15.13.
    71 => Clone "CLONE" 2 CurrentAndSaved Changes (arguments: offload::CloneArguments) -> Done,
    /// Value of an extended attribute, RFC 8276 §8.4.1.
    72 => GetXattr "GETXATTR" 2 Current Plain (name: Name) -> Result<Text, Status>,
    /// Sets an extended attribute, RFC 8276 §8.4.2.
    73 => SetXattr "SETXATTR" 2 Current Changes (arguments: xattr::SetArguments) -> Result<ChangeInfo, Status>,
    /// Names of extended attributes, RFC 8276 §8.4.3.
    74 => ListXattrs "LISTXATTRS" 2 Current Plain (arguments: xattr::ListArguments) -> Result<xattr::ListOk, Status>,
    /// Removes an extended attribute, RFC 8276 §8.4.4.
    75 => RemoveXattr "REMOVEXATTR" 2 Current Changes (name: Name) -> Result<ChangeInfo, Status>,
    ;
    7 "DELEGPURGE" 1,
    20 "OPEN_CONFIRM" 0,
    30 "RENEW" 0,
    35 "SETCLIENTID" 0,
    36 "SETCLIENTID_CONFIRM" 0,
    39 "RELEASE_LOCKOWNER" 0,
    46 "GET_DIR_DELEGATION" 1,
    47 "GETDEVICEINFO" 1,
    48 "GETDEVICELIST" 1,
    49 "LAYOUTCOMMIT" 1,
    50 "LAYOUTGET" 1,
    51 "LAYOUTRETURN" 1,
    54 "SET_SSV" 1,
    56 "WANT_DELEGATION" 1,
    61 "COPY_NOTIFY" 2,
    64 "LAYOUTERROR" 2,
    65 "LAYOUTSTATS" 2,
}
