//! Opens and delegations: CLOSE, DELEGRETURN, OPEN, OPEN_DOWNGRADE, OPENATTR.

use xdr::types;

use super::attributes::Fattr;
use super::{Bitmap, ChangeInfo, Name, StateOwner, Stateid, Text, Verifier};

types! {
    /// `CLOSE4args` (§18.2).
    struct CloseArguments {
        /// Not used in NFSv4.1.
        seqid: u32,
        /// Open.
        stateid: Stateid,
    }

    /// Attributes and verifier of an exclusive creation: `creatverfattr` (§18.16).
    struct ExclusiveCreate {
        /// Verifier.
        verifier: Verifier,
        /// Attributes.
        attributes: Fattr,
    }

    /// What OPEN does with a name that exists: `createhow4` (§18.16).
    union CreateHow {
        /// Uses the file.
        0 => Unchecked(attributes: Fattr),
        /// Fails.
        1 => Guarded(attributes: Fattr),
        /// Fails, unless the file was created with the same verifier. Without attributes.
        2 => Exclusive(verifier: Verifier),
        /// The same, with attributes.
        3 => ExclusiveWithAttributes(create: ExclusiveCreate),
    }

    /// Whether OPEN creates: `openflag4` (§18.16).
    union OpenHow {
        /// It does not.
        0 => NoCreate,
        /// It does.
        1 => Create(how: CreateHow),
    }

    /// Kind of a delegation: `open_delegation_type4` (§18.16).
    enum DelegationType {
        /// None.
        None = 0,
        /// For reading.
        Read = 1,
        /// For writing.
        Write = 2,
        /// None, with the reason.
        NoneExtended = 3,
    }

    /// File by the name in the current directory, with a delegation: `open_claim_delegate_cur4`.
    struct DelegatedName {
        /// Delegation.
        stateid: Stateid,
        /// Name.
        name: Name,
    }

    /// What is opened, and by which right: `open_claim4` (§18.16).
    union OpenClaim {
        /// A name in the current directory.
        0 => Null(name: Name),
        /// The current file, which was open before a restart of the server.
        1 => Previous(delegation: DelegationType),
        /// A name in the current directory, with a delegation.
        2 => DelegateCurrent(name: DelegatedName),
        /// A name in the current directory, with a delegation from before a restart of the client.
        3 => DelegatePrevious(name: Name),
        /// The current file.
        4 => Filehandle,
        /// The current file, with a delegation.
        5 => DelegateCurrentFilehandle(stateid: Stateid),
        /// The current file, with a delegation from before a restart of the client.
        6 => DelegatePreviousFilehandle,
    }

    /// `OPEN4args` (§18.16).
    struct OpenArguments {
        /// Not used in NFSv4.1.
        seqid: u32,
        /// Wanted access and wishes for a delegation: bits of [`share_access`].
        share_access: u32,
        /// Access denied to others: bits of [`share_deny`].
        share_deny: u32,
        /// Owner of the open.
        owner: StateOwner,
        /// Whether a file is created.
        how: OpenHow,
        /// What is opened.
        claim: OpenClaim,
    }

    /// Access control entry: `nfsace4` (§6.2.1).
    struct AccessControlEntry {
        /// Allows, denies, audits or alarms.
        kind: u32,
        /// Inheritance and others.
        flags: u32,
        /// Kinds of access.
        mask: u32,
        /// User or group.
        who: Text,
    }

    /// `open_read_delegation4` (§18.16).
    struct ReadDelegation {
        /// Delegation.
        stateid: Stateid,
        /// Whether it is recalled already.
        recall: bool,
        /// Who may open without asking.
        permissions: AccessControlEntry,
    }

    /// Size of a file in blocks: `nfs_modified_limit4` (§18.16).
    struct BlockLimit {
        /// Number of blocks.
        blocks: u32,
        /// Length of a block.
        block_bytes: u32,
    }

    /// How far a client may write before it asks: `nfs_space_limit4` (§18.16).
    union SpaceLimit {
        /// Size of the file.
        1 => Size(size_bytes: u64),
        /// Blocks.
        2 => Blocks(limit: BlockLimit),
    }

    /// `open_write_delegation4` (§18.16).
    struct WriteDelegation {
        /// Delegation.
        stateid: Stateid,
        /// Whether it is recalled already.
        recall: bool,
        /// How far the client may write.
        limit: SpaceLimit,
        /// Who may open without asking.
        permissions: AccessControlEntry,
    }

    /// Why there is no delegation: `open_none_delegation4` (§18.16). Other reasons have nothing after
    /// them: 0 not wanted, 3 not supported for the file, 4 not for writing, 5 and 6 no upgrade or
    /// downgrade, 7 cancelled, 8 a directory.
    union WhyNoDelegation else Other {
        /// Conflict; whether the server will offer one.
        1 => Contention(will_push: bool),
        /// Lack of memory; whether the server will tell when there is some.
        2 => Resource(will_signal: bool),
    }

    /// `open_delegation4` (§18.16).
    union Delegation {
        /// None.
        0 => None,
        /// For reading.
        1 => Read(delegation: ReadDelegation),
        /// For writing.
        2 => Write(delegation: WriteDelegation),
        /// None, with the reason.
        3 => NoneExtended(why: WhyNoDelegation),
    }

    /// `OPEN4resok` (§18.16).
    struct OpenOk {
        /// Open.
        stateid: Stateid,
        /// Change of the directory.
        change: ChangeInfo,
        /// Bits of [`result`].
        flags: u32,
        /// Attributes that were set by a creation.
        set: Bitmap,
        /// Delegation.
        delegation: Delegation,
    }

    /// `OPEN_DOWNGRADE4args` (§18.18).
    struct DowngradeArguments {
        /// Open.
        stateid: Stateid,
        /// Not used in NFSv4.1.
        seqid: u32,
        /// Access that is left.
        share_access: u32,
        /// Denied access that is left.
        share_deny: u32,
    }
}

impl WhyNoDelegation {
    /// WND4_NOT_WANTED.
    pub const NOT_WANTED: Self = Self::Other(0);
    /// WND4_NOT_SUPP_FTYPE.
    pub const NOT_SUPPORTED_FILE_TYPE: Self = Self::Other(3);
}

/// Bits of `share_access` (§18.16).
pub mod share_access {
    /// Read.
    pub const READ: u32 = 1;
    /// Write.
    pub const WRITE: u32 = 2;
    /// Both.
    pub const BOTH: u32 = 3;
    /// Bits of the wish for a delegation.
    pub const WANT_MASK: u32 = 0xff00;
    /// A delegation for reading is wanted.
    pub const WANT_READ_DELEGATION: u32 = 0x0100;
    /// A delegation for writing is wanted.
    pub const WANT_WRITE_DELEGATION: u32 = 0x0200;
    /// Any delegation is wanted.
    pub const WANT_ANY_DELEGATION: u32 = 0x0300;
    /// No delegation is wanted.
    pub const WANT_NO_DELEGATION: u32 = 0x0400;
    /// An earlier wish is cancelled.
    pub const WANT_CANCEL: u32 = 0x0500;
    /// The server is to tell when there is memory for a delegation.
    pub const WANT_SIGNAL_WHEN_AVAILABLE: u32 = 0x1_0000;
    /// The server is to offer a delegation when there is no conflict.
    pub const WANT_PUSH_WHEN_UNCONTENDED: u32 = 0x2_0000;
}

/// Bits of `share_deny` (§18.16).
pub mod share_deny {
    /// Nothing.
    pub const NONE: u32 = 0;
    /// Reading.
    pub const READ: u32 = 1;
    /// Writing.
    pub const WRITE: u32 = 2;
    /// Both.
    pub const BOTH: u32 = 3;
}

/// Bits of the flags of [`OpenOk`] (§18.16).
pub mod result {
    /// Locks split and merge as in POSIX.
    pub const LOCKTYPE_POSIX: u32 = 0x04;
    /// A file that is removed while it is open stays until it is closed.
    pub const PRESERVE_UNLINKED: u32 = 0x08;
    /// CB_NOTIFY_LOCK may be sent.
    pub const MAY_NOTIFY_LOCK: u32 = 0x20;
}
