//! A compound that is being executed: its handles, its stateids, and the room that its reply has left.

use super::object::{File, Object};
use super::server::Server;
use crate::connection::CallFacts;
use crate::failure::Failure;
use nfs::v4::Status;
use nfs_state::{Admitted, Caller, ClientRef, ConnectionId, CurrentStateid, Principal, State};
use onc_rpc::auth::{Credential, Flavor};
use std::cell::{RefCell, RefMut};
use std::time::Duration;
use unit::OffloadWork;
use vfs::{Call, FileSystem};

/// What an operation sees of its compound.
pub(super) struct Context<'a, F> {
    /// Server.
    pub server: &'a Server<F>,
    /// The call.
    pub caller: CallFacts<'a>,
    /// Minor version.
    pub minor: u32,
    /// Request of a session; none in a compound without SEQUENCE.
    pub admitted: Option<Admitted>,
    /// Stateids beside the handles.
    pub stateids: CurrentStateid,
    /// Bytes that the reply has left for the results of the operation.
    pub room_bytes: usize,
    /// Whether no operation follows.
    pub last: bool,
    /// Opens that operations have closed.
    pub closed: usize,
    /// Why the present operation failed, if it is an offload.
    pub failure: Option<Failure>,
    /// Work of the present operation, if it is an offload.
    work: RefCell<OffloadWork>,
    current: Option<Object<F>>,
    saved: Option<Object<F>>,
}

impl<'a, F: FileSystem> Context<'a, F> {
    pub fn new(server: &'a Server<F>, caller: CallFacts<'a>, minor: u32) -> Self {
        Self {
            server,
            caller,
            minor,
            admitted: None,
            stateids: CurrentStateid::default(),
            room_bytes: 0,
            last: false,
            closed: 0,
            failure: None,
            work: RefCell::default(),
            current: None,
            saved: None,
        }
    }

    /// The current object.
    pub fn current(&self) -> Result<&Object<F>, Status> {
        self.current.as_ref().ok_or(Status::NOFILEHANDLE)
    }

    /// The saved object.
    pub fn saved(&self) -> Result<&Object<F>, Status> {
        self.saved.as_ref().ok_or(Status::NOFILEHANDLE)
    }

    /// The current file.
    pub fn file(&self) -> Result<File<F>, Failure> {
        Ok(self.current()?.file()?.clone())
    }

    /// The saved file.
    pub fn saved_file(&self) -> Result<File<F>, Failure> {
        Ok(self.saved()?.file()?.clone())
    }

    /// Makes an object the current one. The current stateid ends, RFC 8881 §16.2.3.1.2.
    pub fn set_current(&mut self, object: Object<F>) {
        self.current = Some(object);
        self.stateids.clear();
    }

    /// Ends the current handle: after SECINFO there is none.
    pub fn clear_current(&mut self) {
        self.current = None;
        self.stateids.clear();
    }

    /// Saves the current handle and its stateid.
    pub fn save(&mut self) -> Result<(), Status> {
        self.current()?;
        self.saved.clone_from(&self.current);
        self.stateids.save();
        Ok(())
    }

    /// Makes the saved handle and its stateid the current ones.
    pub fn restore(&mut self) -> Result<(), Status> {
        self.saved()?;
        self.current.clone_from(&self.saved);
        self.stateids.restore();
        Ok(())
    }

    /// Call of the caller about a file, by mode bits.
    pub fn call<'b>(&self, file: &'b File<F>) -> Call<'b> {
        file.export.call(self.caller.moment.now)
    }

    /// Takes the noted work.
    pub fn take_work(&self) -> OffloadWork {
        self.work.take()
    }

    /// Notes the work of an offload operation.
    pub fn worked(&self, work: OffloadWork) {
        self.work.replace(work);
    }

    /// State of the clients. Must not be borrowed over an await.
    pub fn state(&self) -> RefMut<'_, State> {
        self.server.state()
    }

    /// Time since the start.
    pub fn uptime(&self) -> Duration {
        self.server.uptime()
    }

    /// The request's session.
    pub fn admitted(&self) -> Result<&Admitted, Status> {
        self.admitted.as_ref().ok_or(Status::OP_NOT_IN_SESSION)
    }

    /// Client of the request's session.
    pub fn client(&self) -> Result<ClientRef, Status> {
        self.admitted().map(Admitted::client)
    }

    /// Who sends the request, for the state of clients.
    pub fn sender(&self) -> Caller {
        let (flavor, user) = match self.caller.credential {
            Credential::Sys(sys) => (Flavor::SYS, u64::from(sys.uid)),
            Credential::None | Credential::TlsProbe => (Flavor::NONE, 0),
        };
        let principal = Principal { flavor: flavor.0, user };
        Caller { connection: ConnectionId(self.caller.connection.id), principal }
    }
}
