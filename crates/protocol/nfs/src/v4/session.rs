//! Clients, sessions and recovery: BACKCHANNEL_CTL, BIND_CONN_TO_SESSION, CREATE_SESSION,
//! DESTROY_CLIENTID, DESTROY_SESSION, EXCHANGE_ID, FREE_STATEID, RECLAIM_COMPLETE, SEQUENCE,
//! TEST_STATEID.

use onc_rpc::auth::AuthSys;
use xdr::{Array, Opaque, types};

use super::{Bitmap, Done, MAX_OPAQUE_BYTES, SessionId, Stateid, Text, Time, Verifier};

/// Most security parameters of a back channel that are decoded.
const MAX_SECURITY_PARAMETERS: u32 = 64;
/// Most algorithms or handles of SP4_SSV that are decoded.
const MAX_ALGORITHMS: u32 = 64;
/// Most stateids of one TEST_STATEID that are decoded.
pub const MAX_STATEIDS: u32 = 4096;

types! {
    /// Client as it names itself: `client_owner4` (§3.3.3).
    struct ClientOwner {
        /// Changes when the client restarts.
        verifier: Verifier,
        /// Name, the same after a restart.
        owner: Opaque<MAX_OPAQUE_BYTES>,
    }

    /// Implementation: `nfs_impl_id4` (§3.3.2).
    struct ImplementationId {
        /// Domain of its maker.
        domain: Text,
        /// Name.
        name: Text,
        /// Date of its build.
        date: Time,
    }

    /// Operations that state protection is about: `state_protect_ops4` (§18.35).
    struct ProtectedOperations {
        /// Operations that need the machine credential.
        must_enforce: Bitmap,
        /// Operations that the machine credential may be used for.
        must_allow: Bitmap,
    }

    /// Parameters of SP4_SSV: `ssv_sp_parms4` (§18.35).
    struct SsvParameters {
        /// Operations.
        operations: ProtectedOperations,
        /// Hash algorithms, as object identifiers.
        hashes: Array<Opaque<255>, MAX_ALGORITHMS>,
        /// Encryption algorithms, as object identifiers.
        ciphers: Array<Opaque<255>, MAX_ALGORITHMS>,
        /// Number of secrets that stay valid.
        window: u32,
        /// Number of GSS handles.
        handles: u32,
    }

    /// Wanted state protection: `state_protect4_a` (§18.35).
    union StateProtection {
        /// None.
        0 => None,
        /// By the machine credential.
        1 => MachineCredential(operations: ProtectedOperations),
        /// By a shared secret.
        2 => Ssv(parameters: Box<SsvParameters>),
    }

    /// `EXCHANGE_ID4args` (§18.35).
    struct ExchangeIdArguments {
        /// Client.
        owner: ClientOwner,
        /// Bits of [`exchange_id`].
        flags: u32,
        /// Wanted state protection.
        protection: StateProtection,
        /// Implementation of the client.
        implementation: Option<ImplementationId>,
    }

    /// `ssv_prot_info4` (§18.35).
    struct SsvInformation {
        /// Operations.
        operations: ProtectedOperations,
        /// Index of the hash algorithm.
        hash: u32,
        /// Index of the encryption algorithm.
        cipher: u32,
        /// Length of the secret in bytes.
        secret_bytes: u32,
        /// Number of secrets that stay valid.
        window: u32,
        /// GSS handles.
        handles: Array<Text, MAX_ALGORITHMS>,
    }

    /// State protection in force: `state_protect4_r` (§18.35).
    union StateProtected {
        /// None.
        0 => None,
        /// By the machine credential.
        1 => MachineCredential(operations: ProtectedOperations),
        /// By a shared secret.
        2 => Ssv(information: Box<SsvInformation>),
    }

    /// Server that owns state: `server_owner4` (§3.3.14).
    struct ServerOwner {
        /// Different for parts that share no sessions.
        minor: u64,
        /// Server.
        major: Opaque<MAX_OPAQUE_BYTES>,
    }

    /// `EXCHANGE_ID4resok` (§18.35).
    struct ExchangeIdOk {
        /// Client id.
        client: u64,
        /// Sequence id of the first CREATE_SESSION.
        sequence: u32,
        /// Bits of [`exchange_id`].
        flags: u32,
        /// State protection in force.
        protection: StateProtected,
        /// Server.
        owner: ServerOwner,
        /// Where client ids are known.
        scope: Opaque<MAX_OPAQUE_BYTES>,
        /// Implementation of the server.
        implementation: Option<ImplementationId>,
    }

    /// Limits of a channel: `channel_attrs4` (§18.36).
    struct ChannelAttributes {
        /// Padding of requests with data (RDMA).
        header_pad_bytes: u32,
        /// Longest request.
        max_request_bytes: u32,
        /// Longest reply.
        max_response_bytes: u32,
        /// Longest reply that is cached.
        max_cached_response_bytes: u32,
        /// Most operations of a compound.
        max_operations: u32,
        /// Most requests at a time: number of slots.
        max_requests: u32,
        /// Limit of RDMA reads.
        rdma_reads: Option<u32>,
    }

    /// GSS contexts of a back channel: `gss_cb_handles4` (§18.33).
    struct GssHandles {
        /// Service: 1 none, 2 integrity, 3 privacy (RFC 2203 §5.3.1).
        service: u32,
        /// Handle from the server.
        from_server: Text,
        /// Handle from the client.
        from_client: Text,
    }

    /// Credential that callbacks may use: `callback_sec_parms4` (§18.33).
    union CallbackSecurity {
        /// AUTH_NONE.
        0 => None,
        /// AUTH_SYS.
        1 => Sys(credential: AuthSys),
        /// RPCSEC_GSS.
        6 => Gss(handles: GssHandles),
    }

    /// `CREATE_SESSION4args` (§18.36).
    struct CreateSessionArguments {
        /// Client id.
        client: u64,
        /// Sequence id.
        sequence: u32,
        /// Bits of [`create_session`].
        flags: u32,
        /// Wanted limits of requests from the client.
        fore_channel: ChannelAttributes,
        /// Wanted limits of requests from the server.
        back_channel: ChannelAttributes,
        /// Program of callbacks.
        callback_program: u32,
        /// Credentials that callbacks may use.
        callback_security: Array<CallbackSecurity, MAX_SECURITY_PARAMETERS>,
    }

    /// `CREATE_SESSION4resok` (§18.36).
    struct CreateSessionOk {
        /// Session.
        session: SessionId,
        /// Sequence id of the request.
        sequence: u32,
        /// Bits of [`create_session`].
        flags: u32,
        /// Limits of requests from the client.
        fore_channel: ChannelAttributes,
        /// Limits of requests from the server.
        back_channel: ChannelAttributes,
    }

    /// `BACKCHANNEL_CTL4args` (§18.33).
    struct BackChannelArguments {
        /// Program of callbacks.
        program: u32,
        /// Credentials that callbacks may use.
        security: Array<CallbackSecurity, MAX_SECURITY_PARAMETERS>,
    }

    /// Wanted use of a connection: `channel_dir_from_client4` (§18.34).
    enum WantedDirection {
        /// Requests from the client.
        Fore = 1,
        /// Requests from the server.
        Back = 2,
        /// Requests from the client, and from the server if it likes.
        ForeOrBoth = 3,
        /// Requests from the server, and from the client if it likes.
        BackOrBoth = 7,
    }

    /// Use of a connection: `channel_dir_from_server4` (§18.34).
    enum BoundDirection {
        /// Requests from the client.
        Fore = 1,
        /// Requests from the server.
        Back = 2,
        /// Both.
        Both = 3,
    }

    /// `BIND_CONN_TO_SESSION4args` (§18.34).
    struct BindArguments {
        /// Session.
        session: SessionId,
        /// Wanted use.
        direction: WantedDirection,
        /// Whether RDMA is wanted.
        rdma: bool,
    }

    /// `BIND_CONN_TO_SESSION4resok` (§18.34).
    struct BindOk {
        /// Session.
        session: SessionId,
        /// Use.
        direction: BoundDirection,
        /// Whether RDMA is used.
        rdma: bool,
    }

    /// `SEQUENCE4args` (§18.46).
    struct SequenceArguments {
        /// Session.
        session: SessionId,
        /// Sequence id of the slot.
        sequence: u32,
        /// Slot.
        slot: u32,
        /// Highest slot that the client uses.
        highest_slot: u32,
        /// Whether the reply must be cached.
        cache_this: bool,
    }

    /// `SEQUENCE4resok` (§18.46).
    struct SequenceOk {
        /// Session.
        session: SessionId,
        /// Sequence id of the slot.
        sequence: u32,
        /// Slot.
        slot: u32,
        /// Highest slot that the server accepts.
        highest_slot: u32,
        /// Highest slot that the client should use.
        target_highest_slot: u32,
        /// Bits of [`sequence_status`].
        status_flags: u32,
    }
}

/// `TEST_STATEID4args` (§18.48).
pub type TestStateidArguments = Array<Stateid, MAX_STATEIDS>;
/// `TEST_STATEID4resok` (§18.48): one status a stateid.
pub type TestStateidOk = Array<Done, MAX_STATEIDS>;

/// Flags of EXCHANGE_ID (§18.35, RFC 7862 §14.1).
pub mod exchange_id {
    /// The client can be referred to other servers.
    pub const SUPPORTS_MOVED_REFERRAL: u32 = 0x0000_0001;
    /// The client can be migrated.
    pub const SUPPORTS_MOVED_MIGRATION: u32 = 0x0000_0002;
    /// Operations can be fenced off (minor version 2).
    pub const SUPPORTS_FENCE_OPERATIONS: u32 = 0x0000_0004;
    /// Stateids are bound to the principal.
    pub const BIND_PRINCIPAL_STATEID: u32 = 0x0000_0100;
    /// Server without pNFS.
    pub const USE_NON_PNFS: u32 = 0x0001_0000;
    /// Metadata server.
    pub const USE_PNFS_MDS: u32 = 0x0002_0000;
    /// Data server.
    pub const USE_PNFS_DS: u32 = 0x0004_0000;
    /// The client wants to change a confirmed record.
    pub const UPDATE_CONFIRMED_RECORD: u32 = 0x4000_0000;
    /// The client id is confirmed.
    pub const CONFIRMED: u32 = 0x8000_0000;
}

/// Flags of CREATE_SESSION (§18.36).
pub mod create_session {
    /// The session survives a restart of the server.
    pub const PERSIST: u32 = 0x1;
    /// The connection is used for callbacks.
    pub const CONNECTION_BACK_CHANNEL: u32 = 0x2;
    /// The connection changes to RDMA.
    pub const CONNECTION_RDMA: u32 = 0x4;
}

/// Status flags of SEQUENCE (§18.46).
pub mod sequence_status {
    /// No path for callbacks of the client.
    pub const CALLBACK_PATH_DOWN: u32 = 0x0001;
    /// GSS contexts of callbacks expire soon.
    pub const CALLBACK_GSS_EXPIRING: u32 = 0x0002;
    /// GSS contexts of callbacks have expired.
    pub const CALLBACK_GSS_EXPIRED: u32 = 0x0004;
    /// The lease expired, and all state is gone.
    pub const EXPIRED_ALL_STATE_REVOKED: u32 = 0x0008;
    /// The lease expired, and some state is gone.
    pub const EXPIRED_SOME_STATE_REVOKED: u32 = 0x0010;
    /// The administrator revoked state.
    pub const ADMIN_STATE_REVOKED: u32 = 0x0020;
    /// Delegations or layouts were revoked.
    pub const RECALLABLE_STATE_REVOKED: u32 = 0x0040;
    /// The lease has moved to another server.
    pub const LEASE_MOVED: u32 = 0x0080;
    /// The client has to reclaim, or to say that it is through.
    pub const RESTART_RECLAIM_NEEDED: u32 = 0x0100;
    /// No path for callbacks of the session.
    pub const CALLBACK_PATH_DOWN_SESSION: u32 = 0x0200;
    /// The client refuses callbacks.
    pub const BACK_CHANNEL_FAULT: u32 = 0x0400;
    /// Device ids have changed.
    pub const DEVICE_ID_CHANGED: u32 = 0x0800;
    /// Device ids are gone.
    pub const DEVICE_ID_DELETED: u32 = 0x1000;
}
