//! A server and its clients in memory, for tests.

use std::time::Duration;

use bytes::Bytes;
use nfs::v4::locks::{
    ExistingLockOwner, LockArguments, LockFailure, LockTestArguments, LockType, Locker, OpenToLockOwner,
    UnlockArguments,
};
use nfs::v4::open::{CloseArguments, DelegationType, DowngradeArguments, OpenArguments, OpenClaim, OpenHow};
use nfs::v4::session::{
    CallbackSecurity, ChannelAttributes, ClientOwner, CreateSessionArguments, CreateSessionOk, ExchangeIdArguments,
    ExchangeIdOk, SequenceArguments, SequenceOk, StateProtection, create_session,
};
use nfs::v4::{SessionId, StateOwner, Stateid, Status};
use xdr::Opaque;

use crate::files::FileKey;
use crate::state::{Admitted, ClientRef, Opened, Sequenced, State};
use crate::{Caller, Config, ConnectionId, Fingerprint, Identity, Limits, Principal, Record, RecordChange, Request};

pub(super) const LEASE: Duration = Duration::from_secs(30);
pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const FILE: FileKey = FileKey { share: 1, file: 1 };
pub(super) const OTHER_FILE: FileKey = FileKey { share: 2, file: 1 };
/// User of opens and I/O.
pub(super) const USER: u32 = 7;
pub(super) const READ: u32 = 1;
pub(super) const WRITE: u32 = 2;
pub(super) const BOTH: u32 = 3;

/// User of AUTH_SYS on a connection.
pub(super) fn caller(connection: u64, user: u64) -> Caller {
    Caller { connection: ConnectionId(connection), principal: Principal { flavor: 1, user } }
}

pub(super) fn channel(requests: u32) -> ChannelAttributes {
    ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: 1 << 20,
        max_response_bytes: 1 << 20,
        max_cached_response_bytes: 4096,
        max_operations: 8,
        max_requests: requests,
        rdma_reads: None,
    }
}

pub(super) fn exchange(owner: &str, verifier: u8, flags: u32) -> ExchangeIdArguments {
    ExchangeIdArguments {
        owner: ClientOwner { verifier: [verifier; 8], owner: Opaque::from(owner) },
        flags,
        protection: StateProtection::None,
        implementation: None,
    }
}

pub(super) fn create(client: u64, sequence: u32) -> CreateSessionArguments {
    CreateSessionArguments {
        client,
        sequence,
        flags: create_session::CONNECTION_BACK_CHANNEL,
        fore_channel: channel(8),
        back_channel: ChannelAttributes { max_cached_response_bytes: 0, ..channel(16) },
        callback_program: 0x4000_0000,
        callback_security: vec![CallbackSecurity::None].into(),
    }
}

/// A server with its time.
pub(super) struct Kit {
    pub(super) state: State,
    pub(super) now: Duration,
}

/// One session of a client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) id: u64,
    pub(super) reference: ClientRef,
    pub(super) session: SessionId,
    pub(super) caller: Caller,
}

pub(super) fn config(boot: u32, limits: Limits) -> Config {
    let identity = Identity {
        server_owner: Bytes::from_static(b"pool"),
        scope: Bytes::from_static(b"pool"),
        implementation: None,
    };
    Config { limits, ..Config::new(boot, identity) }
}

impl Kit {
    pub(super) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(super) fn with(limits: Limits) -> Self {
        Self::start(1, limits, &[])
    }

    /// A run with records of earlier ones.
    pub(super) fn start(boot: u32, limits: Limits, owners: &[&str]) -> Self {
        let record =
            |owner: &&str| Record { owner: Bytes::copy_from_slice(owner.as_bytes()), boot: boot - 1, denies: false };
        let records = owners.iter().map(record).collect();
        let now = Duration::from_secs(1000);
        let state = State::new(config(boot, limits), records, LEASE, now).expect("valid settings");
        Self { state, now }
    }

    pub(super) fn exchange_id(
        &mut self,
        user: u64,
        arguments: &ExchangeIdArguments,
    ) -> Result<Box<ExchangeIdOk>, Status> {
        self.state.exchange_id(&caller(1, user), arguments, 2, self.now)
    }

    pub(super) fn create_session(
        &mut self,
        caller: &Caller,
        arguments: &CreateSessionArguments,
    ) -> Result<Box<CreateSessionOk>, Status> {
        self.state.create_session(caller, arguments, 0x5a5a, self.now)
    }

    /// A confirmed client that has not completed its reclaims. Its connection has the number of its user.
    pub(super) fn reclaiming_client(&mut self, owner: &str, user: u64) -> Client {
        let found = self.exchange_id(user, &exchange(owner, 1, 0)).expect("a client id");
        let caller = caller(user, user);
        let created = self.create_session(&caller, &create(found.client, found.sequence)).expect("a session");
        let reference = ClientRef(self.state.clients.find(found.client).expect("a client"));
        Client { id: found.client, reference, session: created.session, caller }
    }

    /// A client that is through with its reclaims.
    pub(super) fn client(&mut self, owner: &str, user: u64) -> Client {
        let client = self.reclaiming_client(owner, user);
        assert_eq!(self.state.reclaim_complete(client.reference, false, self.now), Ok(()));
        client
    }

    pub(super) fn sequence(
        &mut self,
        client: &Client,
        slot: u32,
        sequence: u32,
        content: &str,
        cache_this: bool,
    ) -> Result<Sequenced, Status> {
        let arguments = SequenceArguments { session: client.session, sequence, slot, highest_slot: slot, cache_this };
        self.state.sequence(&request(client.caller, content), &arguments, self.now)
    }

    /// A new request, which has to be admitted.
    pub(super) fn begin(&mut self, client: &Client, slot: u32, sequence: u32, cache_this: bool) -> Admitted {
        match self.sequence(client, slot, sequence, "call", cache_this) {
            Ok(Sequenced::Run(admitted)) => admitted,
            other => panic!("not admitted: {other:?}"),
        }
    }

    /// Begins and completes a request without a kept reply; renews the lease.
    pub(super) fn renew(&mut self, client: &Client, sequence: u32) -> SequenceOk {
        let admitted = self.begin(client, 7, sequence, false);
        let result = admitted.result().clone();
        self.state.complete(admitted, &[], self.now);
        result
    }

    pub(super) fn open(
        &mut self,
        client: &Client,
        owner: &str,
        file: &FileKey,
        access: u32,
        deny: u32,
    ) -> Result<Opened, Status> {
        self.open_by(client, &open_arguments(owner, access, deny, OpenClaim::Filehandle), file)
    }

    pub(super) fn reclaim(
        &mut self,
        client: &Client,
        owner: &str,
        file: &FileKey,
        access: u32,
        deny: u32,
    ) -> Result<Opened, Status> {
        let claim = OpenClaim::Previous(DelegationType::None);
        self.open_by(client, &open_arguments(owner, access, deny, claim), file)
    }

    pub(super) fn open_by(
        &mut self,
        client: &Client,
        arguments: &OpenArguments,
        file: &FileKey,
    ) -> Result<Opened, Status> {
        self.open_as(client, USER, arguments, file)
    }

    pub(super) fn open_as(
        &mut self,
        client: &Client,
        user: u32,
        arguments: &OpenArguments,
        file: &FileKey,
    ) -> Result<Opened, Status> {
        let request = self.state.prepare_open(client.reference, arguments, self.now)?;
        let opened = self.state.open(client.reference, user, &request, file, self.now);
        self.state.files.check();
        opened
    }

    pub(super) fn close(&mut self, client: &Client, file: &FileKey, stateid: Stateid) -> Result<Stateid, Status> {
        self.state.close(client.reference, file, &CloseArguments { seqid: 0, stateid })
    }

    pub(super) fn downgrade(
        &mut self,
        client: &Client,
        file: &FileKey,
        stateid: Stateid,
        share_access: u32,
        share_deny: u32,
    ) -> Result<Stateid, Status> {
        let arguments = DowngradeArguments { stateid, seqid: 0, share_access, share_deny };
        self.state.open_downgrade(client.reference, file, &arguments)
    }

    pub(super) fn lock_by(
        &mut self,
        client: &Client,
        file: &FileKey,
        kind: LockType,
        range: (u64, u64),
        locker: Locker,
    ) -> Result<Stateid, LockFailure> {
        let (offset_bytes, length_bytes) = range;
        let arguments = LockArguments { kind, reclaim: false, offset_bytes, length_bytes, locker };
        let result = self.state.lock(client.reference, file, &arguments, self.now);
        self.state.files.check();
        result
    }

    /// Locks a range of [`FILE`] with a new lock owner.
    pub(super) fn lock(
        &mut self,
        client: &Client,
        open: Stateid,
        owner: &str,
        kind: LockType,
        range: (u64, u64),
    ) -> Result<Stateid, LockFailure> {
        self.lock_by(client, &FILE, kind, range, new_locker(open, owner))
    }

    pub(super) fn unlock(&mut self, client: &Client, lock: Stateid, range: (u64, u64)) -> Result<Stateid, Status> {
        let (offset_bytes, length_bytes) = range;
        let arguments = UnlockArguments { kind: LockType::Read, seqid: 0, stateid: lock, offset_bytes, length_bytes };
        self.state.unlock(client.reference, &FILE, &arguments)
    }

    pub(super) fn lock_test(
        &mut self,
        client: &Client,
        owner: &str,
        kind: LockType,
        range: (u64, u64),
    ) -> Result<(), LockFailure> {
        let (offset_bytes, length_bytes) = range;
        let owner = StateOwner { client: 0, owner: Opaque::from(owner) };
        let arguments = LockTestArguments { kind, offset_bytes, length_bytes, owner };
        self.state.lock_test(client.reference, &FILE, &arguments, self.now)
    }

    /// All changes of records that were not taken: `+name` and `-name`.
    pub(super) fn records(&mut self) -> Vec<String> {
        let name = |owner: &Bytes| String::from_utf8_lossy(owner).into_owned();
        std::iter::from_fn(|| self.state.take_record_change())
            .map(|change| match change {
                RecordChange::Write(record) => format!("+{}", name(&record.owner)),
                RecordChange::Remove { owner } => format!("-{}", name(&owner)),
            })
            .collect()
    }

    pub(super) fn released(&mut self) -> Vec<FileKey> {
        std::iter::from_fn(|| self.state.take_released()).collect()
    }
}

pub(super) fn request(caller: Caller, content: &str) -> Request {
    Request {
        caller,
        length_bytes: 200,
        fingerprint: Fingerprint::of(content.as_bytes()),
        operations: 3,
        reply_bytes: 100,
    }
}

pub(super) fn new_locker(open_stateid: Stateid, owner: &str) -> Locker {
    let owner = StateOwner { client: 0, owner: Opaque::from(owner) };
    Locker::New(OpenToLockOwner { open_seqid: 0, open_stateid, lock_seqid: 0, owner })
}

pub(super) fn existing_locker(stateid: Stateid) -> Locker {
    Locker::Existing(ExistingLockOwner { stateid, seqid: 0 })
}

pub(super) fn open_arguments(owner: &str, share_access: u32, share_deny: u32, claim: OpenClaim) -> OpenArguments {
    OpenArguments {
        seqid: 0,
        share_access,
        share_deny,
        owner: StateOwner { client: 0, owner: Opaque::from(owner) },
        how: OpenHow::NoCreate,
        claim,
    }
}
