//! CREATE_SESSION, BIND_CONN_TO_SESSION and BACKCHANNEL_CTL (RFC 8881 §18.36, §18.34, §18.33).

use std::time::Duration;

use nfs::v4::Status;
use nfs::v4::session::{
    BackChannelArguments, BindArguments, BindOk, BoundDirection, CreateSessionArguments, CreateSessionOk,
    WantedDirection, create_session,
};

use super::{Admitted, State, channels};
use crate::caller::{Caller, ConnectionId};
use crate::sessions::{CallbackParameters, Direction, NewSession};
use crate::table::Key;

/// Flags that a client may set.
const REQUEST_FLAGS: u32 =
    create_session::PERSIST | create_session::CONNECTION_BACK_CHANNEL | create_session::CONNECTION_RDMA;

impl State {
    /// CREATE_SESSION. `check` is a random number, part of the session id. A retry gets the same reply, also an error;
    /// `DELAY` is no reply in this sense. Errors: `STALE_CLIENTID`, `SEQ_MISORDERED`, `CLID_INUSE`, `INVAL`,
    /// `TOOSMALL`, `DELAY`.
    pub fn create_session(
        &mut self,
        caller: &Caller,
        arguments: &CreateSessionArguments,
        check: u32,
        now: Duration,
    ) -> Result<Box<CreateSessionOk>, Status> {
        let key = self.clients.find(arguments.client)?;
        let client = self.clients.get(key).ok_or(Status::STALE_CLIENTID)?;
        if !client.is_confirmed() && self.is_courteous(key, now) {
            return Err(Status::STALE_CLIENTID);
        }
        if let Some(reply) = client.replay(arguments.sequence)? {
            return reply;
        }
        let reply = self.new_session(key, caller, arguments, check, now);
        if reply != Err(Status::DELAY)
            && let Some(client) = self.clients.get_mut(key)
        {
            client.set_created(arguments.sequence, reply.clone());
        }
        reply
    }

    fn new_session(
        &mut self,
        key: Key,
        caller: &Caller,
        arguments: &CreateSessionArguments,
        check: u32,
        now: Duration,
    ) -> Result<Box<CreateSessionOk>, Status> {
        let client = self.clients.get(key).ok_or(Status::STALE_CLIENTID)?;
        if !client.is_confirmed() && client.identification().principal != caller.principal {
            return Err(Status::CLID_INUSE);
        }
        if arguments.flags & !REQUEST_FLAGS != 0 {
            return Err(Status::INVAL);
        }
        let limits = &self.config.limits;
        let mut fore = channels::fore(&arguments.fore_channel, limits)?;
        let back = channels::back(&arguments.back_channel, limits)?;
        if client.sessions().len() >= limits.sessions_per_client as usize {
            return Err(Status::DELAY);
        }
        fore.max_requests = self.sessions.grant_slots(fore.max_requests)?;
        let client_id = client.id();
        self.confirm(key, now);

        let security = channels::security(&arguments.callback_security);
        let wants_back = arguments.flags & create_session::CONNECTION_BACK_CHANNEL != 0;
        let has_back = wants_back && security.is_some() && back.max_requests > 0;
        let callbacks = CallbackParameters { program: arguments.callback_program, security };
        let (fore_channel, back_channel) = (fore.clone(), back.clone());
        let session = self.sessions.insert(NewSession { client: key, client_id, check, fore, back, callbacks });
        if let Some(client) = self.clients.get_mut(key) {
            client.add_session(session);
        }
        let direction = if has_back { Direction::Both } else { Direction::Fore };
        self.sessions.associate(session, caller.connection, direction);
        Ok(Box::new(CreateSessionOk {
            session: self.sessions.get(session).map(|session| *session.id()).unwrap_or_default(),
            sequence: arguments.sequence,
            flags: if has_back { create_session::CONNECTION_BACK_CHANNEL } else { 0 },
            fore_channel,
            back_channel,
        }))
    }

    /// Confirms a client. An earlier incarnation of it is gone with this.
    fn confirm(&mut self, key: Key, now: Duration) {
        let Some(client) = self.clients.get(key).filter(|client| !client.is_confirmed()) else { return };
        if let Some(earlier) = self.clients.confirmed(client.owner()) {
            self.remove_client(earlier, now);
        }
        self.clients.confirm(key, now);
    }

    /// BIND_CONN_TO_SESSION. Errors: `BADSESSION`; `INVAL`: the connection is bound in another direction.
    pub fn bind_connection(&mut self, connection: ConnectionId, arguments: &BindArguments) -> Result<BindOk, Status> {
        let key = self.sessions.find(&arguments.session)?;
        let session = self.sessions.get_mut(key).ok_or(Status::BADSESSION)?;
        let direction = match (session.direction(connection), arguments.direction) {
            (None | Some(Direction::Fore), WantedDirection::Fore) => Direction::Fore,
            (None | Some(Direction::Back), WantedDirection::Back) => Direction::Back,
            (Some(Direction::Fore), WantedDirection::ForeOrBoth) => Direction::Fore,
            (Some(Direction::Back), WantedDirection::BackOrBoth) => Direction::Back,
            (None | Some(Direction::Both), WantedDirection::ForeOrBoth) => Direction::Both,
            // Linux asks for the back channel on a connection that it has used before.
            (None | Some(Direction::Both | Direction::Fore), WantedDirection::BackOrBoth) => Direction::Both,
            _ => return Err(Status::INVAL),
        };
        if direction.has_back() {
            session.set_back_fault(false);
        }
        self.sessions.associate(key, connection, direction);
        let direction = match direction {
            Direction::Fore => BoundDirection::Fore,
            Direction::Back => BoundDirection::Back,
            Direction::Both => BoundDirection::Both,
        };
        Ok(BindOk { session: arguments.session, direction, rdma: false })
    }

    /// BACKCHANNEL_CTL in the session of a request. `NOENT`: no credential that this server has (RFC 8881 §18.33.3).
    pub fn back_channel_control(
        &mut self,
        admitted: &Admitted,
        arguments: &BackChannelArguments,
    ) -> Result<(), Status> {
        let security = channels::security(&arguments.security).ok_or(Status::NOENT)?;
        let session = self.sessions.get_mut(admitted.session()).ok_or(Status::DEADSESSION)?;
        session.set_callbacks(CallbackParameters { program: arguments.program, security: Some(security) });
        session.set_back_fault(false);
        Ok(())
    }
}
