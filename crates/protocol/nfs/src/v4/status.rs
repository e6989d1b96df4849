//! Status of operations, RFC 8881 §15.1, RFC 7862 §11.1, RFC 8276 §8.5.

use crate::status::statuses;

statuses! {
    /// Why an operation failed: `nfsstat4` other than NFS4_OK.
    Status {
        /// Caller not privileged.
        PERM = 1,
        /// No such file or directory.
        NOENT = 2,
        /// I/O error.
        IO = 5,
        /// No such device; beyond the end in SEEK.
        NXIO = 6,
        /// Access denied.
        ACCESS = 13,
        /// The name exists.
        EXIST = 17,
        /// Different file systems.
        XDEV = 18,
        /// Not a directory.
        NOTDIR = 20,
        /// Is a directory.
        ISDIR = 21,
        /// Invalid argument.
        INVAL = 22,
        /// File too large.
        FBIG = 27,
        /// No space left.
        NOSPC = 28,
        /// Read-only file system.
        ROFS = 30,
        /// Too many hard links.
        MLINK = 31,
        /// Name too long.
        NAMETOOLONG = 63,
        /// Directory not empty.
        NOTEMPTY = 66,
        /// Quota exceeded.
        DQUOT = 69,
        /// The handle's file is gone.
        STALE = 70,
        /// Invalid handle.
        BADHANDLE = 10001,
        /// Stale cookie.
        BAD_COOKIE = 10003,
        /// Operation not supported.
        NOTSUPP = 10004,
        /// Buffer or request too small.
        TOOSMALL = 10005,
        /// Failure of the server without another status.
        SERVERFAULT = 10006,
        /// Type not valid for CREATE.
        BADTYPE = 10007,
        /// Not now; the client repeats the request later.
        DELAY = 10008,
        /// NVERIFY: the attributes are the same.
        SAME = 10009,
        /// Lock not available.
        DENIED = 10010,
        /// The lease expired.
        EXPIRED = 10011,
        /// I/O failed because of a lock.
        LOCKED = 10012,
        /// In the grace period.
        GRACE = 10013,
        /// Handle expired.
        FHEXPIRED = 10014,
        /// Share reservation denied.
        SHARE_DENIED = 10015,
        /// Wrong security flavor.
        WRONGSEC = 10016,
        /// Client id in use.
        CLID_INUSE = 10017,
        /// Not a status of NFSv4.1.
        RESOURCE = 10018,
        /// File system relocated.
        MOVED = 10019,
        /// No current or saved handle.
        NOFILEHANDLE = 10020,
        /// Minor version not supported.
        MINOR_VERS_MISMATCH = 10021,
        /// Client id unknown, for example since a restart.
        STALE_CLIENTID = 10022,
        /// Not a status of NFSv4.1.
        STALE_STATEID = 10023,
        /// Old version of a stateid.
        OLD_STATEID = 10024,
        /// Invalid stateid.
        BAD_STATEID = 10025,
        /// Not a status of NFSv4.1.
        BAD_SEQID = 10026,
        /// VERIFY: the attributes differ.
        NOT_SAME = 10027,
        /// Overlapping range of locks.
        LOCK_RANGE = 10028,
        /// Is a symbolic link.
        SYMLINK = 10029,
        /// Not a status of NFSv4.1.
        RESTOREFH = 10030,
        /// Not a status of NFSv4.1.
        LEASE_MOVED = 10031,
        /// Attribute not supported.
        ATTRNOTSUPP = 10032,
        /// Reclaim outside of the grace period.
        NO_GRACE = 10033,
        /// Reclaim of what the client did not have.
        RECLAIM_BAD = 10034,
        /// Reclaim that conflicts.
        RECLAIM_CONFLICT = 10035,
        /// Arguments cannot be decoded.
        BADXDR = 10036,
        /// Locks are held.
        LOCKS_HELD = 10037,
        /// The open does not allow this access.
        OPENMODE = 10038,
        /// Owner unknown.
        BADOWNER = 10039,
        /// Character not supported.
        BADCHAR = 10040,
        /// Name not supported.
        BADNAME = 10041,
        /// Range of a lock not supported.
        BAD_RANGE = 10042,
        /// No atomic upgrade or downgrade.
        LOCK_NOTSUPP = 10043,
        /// No such operation.
        OP_ILLEGAL = 10044,
        /// Deadlock of locks.
        DEADLOCK = 10045,
        /// The file is open.
        FILE_OPEN = 10046,
        /// State revoked by the administrator.
        ADMIN_REVOKED = 10047,
        /// No path for callbacks.
        CB_PATH_DOWN = 10048,
        /// I/O mode of a layout not valid.
        BADIOMODE = 10049,
        /// Layout not valid.
        BADLAYOUT = 10050,
        /// Digest of SET_SSV wrong.
        BAD_SESSION_DIGEST = 10051,
        /// No such session.
        BADSESSION = 10052,
        /// No such slot.
        BADSLOT = 10053,
        /// Complete already.
        COMPLETE_ALREADY = 10054,
        /// The connection is not bound to the session.
        CONN_NOT_BOUND_TO_SESSION = 10055,
        /// A delegation is wanted already.
        DELEG_ALREADY_WANTED = 10056,
        /// Requests on the back channel are outstanding.
        BACK_CHAN_BUSY = 10057,
        /// Layout not available now.
        LAYOUTTRYLATER = 10058,
        /// Layout not available.
        LAYOUTUNAVAILABLE = 10059,
        /// No layout matches.
        NOMATCHING_LAYOUT = 10060,
        /// Conflict with a recall.
        RECALLCONFLICT = 10061,
        /// Unknown type of layout.
        UNKNOWN_LAYOUTTYPE = 10062,
        /// Sequence id out of order.
        SEQ_MISORDERED = 10063,
        /// SEQUENCE is not the first operation.
        SEQUENCE_POS = 10064,
        /// Request too big for the session.
        REQ_TOO_BIG = 10065,
        /// Reply too big for the session.
        REP_TOO_BIG = 10066,
        /// Reply too big to be cached.
        REP_TOO_BIG_TO_CACHE = 10067,
        /// Retry of a request whose reply was not cached.
        RETRY_UNCACHED_REP = 10068,
        /// Compound cannot be retried safely.
        UNSAFE_COMPOUND = 10069,
        /// Too many operations.
        TOO_MANY_OPS = 10070,
        /// The operation needs a SEQUENCE before it.
        OP_NOT_IN_SESSION = 10071,
        /// Hash algorithm not supported.
        HASH_ALG_UNSUPP = 10072,
        /// The client id has state.
        CLIENTID_BUSY = 10074,
        /// I/O to a hole of a sparse striped file.
        PNFS_IO_HOLE = 10075,
        /// Retry that differs from the request.
        SEQ_FALSE_RETRY = 10076,
        /// Bad highest slot.
        BAD_HIGH_SLOT = 10077,
        /// The session is being destroyed.
        DEADSESSION = 10078,
        /// Encryption algorithm not supported.
        ENCR_ALG_UNSUPP = 10079,
        /// I/O without a layout.
        PNFS_NO_LAYOUT = 10080,
        /// The operation must be alone.
        NOT_ONLY_OP = 10081,
        /// Wrong credential.
        WRONG_CRED = 10082,
        /// Wrong kind of file.
        WRONG_TYPE = 10083,
        /// Directory delegation not available.
        DIRDELEG_UNAVAIL = 10084,
        /// The client rejects a delegation.
        REJECT_DELEG = 10085,
        /// Conflict with the return of a layout.
        RETURNCONFLICT = 10086,
        /// Delegation revoked.
        DELEG_REVOKED = 10087,
        /// Copy between servers not supported (RFC 7862).
        PARTNER_NOTSUPP = 10088,
        /// Copy between servers not authorised (RFC 7862).
        PARTNER_NO_AUTH = 10089,
        /// Arm of a union not supported (RFC 7862).
        UNION_NOTSUPP = 10090,
        /// The server does not take this copy (RFC 7862).
        OFFLOAD_DENIED = 10091,
        /// Label format not supported (RFC 7862).
        WRONG_LFS = 10092,
        /// Label not valid (RFC 7862).
        BADLABEL = 10093,
        /// The requirements of a copy cannot be met (RFC 7862).
        OFFLOAD_NO_REQS = 10094,
        /// No such extended attribute (RFC 8276).
        NOXATTR = 10095,
        /// Extended attribute too large (RFC 8276).
        XATTR2BIG = 10096,
    }
}

/// Results or failure of an operation.
pub trait HasStatus {
    /// The status.
    fn status(&self) -> Result<(), Status>;

    /// Failure with a status that has no details.
    fn failed(status: Status) -> Self;
}

impl HasStatus for Status {
    fn status(&self) -> Result<(), Status> {
        Err(*self)
    }
    fn failed(status: Status) -> Self {
        status
    }
}

impl<T, E: HasStatus> HasStatus for Result<T, E> {
    fn status(&self) -> Result<(), Status> {
        match self {
            Ok(_) => Ok(()),
            Err(failure) => failure.status(),
        }
    }
    fn failed(status: Status) -> Self {
        Err(E::failed(status))
    }
}
