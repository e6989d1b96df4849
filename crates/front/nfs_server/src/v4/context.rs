//! A compound that is being executed: its handles, its stateids, and the room that its reply has left.

use super::object::{File, Object};
use crate::client::CallFacts;
use crate::failure::Failure;
use crate::server::Server;
use crate::sessions::Slot;
use nfs::v4::{Stateid, Status};
use vfs::{Call, FileSystem};

/// What an operation sees of its compound.
pub(super) struct Context<'a, F> {
    /// Server.
    pub server: &'a Server<F>,
    /// The call.
    pub caller: CallFacts<'a>,
    /// Minor version.
    pub minor: u32,
    /// Slot of the session; none in a compound without SEQUENCE.
    pub slot: Option<Slot>,
    /// Bytes that the reply has left for the results of the operation.
    pub room_bytes: usize,
    current: Option<(Object<F>, Option<Stateid>)>,
    saved: Option<(Object<F>, Option<Stateid>)>,
}

impl<'a, F: FileSystem> Context<'a, F> {
    pub fn new(server: &'a Server<F>, caller: CallFacts<'a>, minor: u32) -> Self {
        Self { server, caller, minor, slot: None, room_bytes: 0, current: None, saved: None }
    }

    /// The current object.
    pub fn current(&self) -> Result<&Object<F>, Status> {
        self.current.as_ref().map(|(object, _)| object).ok_or(Status::NOFILEHANDLE)
    }

    /// The saved object.
    pub fn saved(&self) -> Result<&Object<F>, Status> {
        self.saved.as_ref().map(|(object, _)| object).ok_or(Status::NOFILEHANDLE)
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
        self.current = Some((object, None));
    }

    /// Ends the current handle: after SECINFO there is none.
    pub fn clear_current(&mut self) {
        self.current = None;
    }

    /// Saves the current handle and its stateid.
    pub fn save(&mut self) -> Result<(), Status> {
        self.current()?;
        self.saved.clone_from(&self.current);
        Ok(())
    }

    /// Makes the saved handle and its stateid the current ones.
    pub fn restore(&mut self) -> Result<(), Status> {
        self.saved()?;
        self.current.clone_from(&self.saved);
        Ok(())
    }

    /// The stateid that an operation has set for the current handle.
    pub fn current_stateid(&self) -> Option<&Stateid> {
        self.current.as_ref().and_then(|(_, stateid)| stateid.as_ref())
    }

    /// The stateid that an operation has set for the saved handle.
    pub fn saved_stateid(&self) -> Option<&Stateid> {
        self.saved.as_ref().and_then(|(_, stateid)| stateid.as_ref())
    }

    /// Call of the caller about a file, by mode bits.
    pub fn call<'b>(&self, file: &'b File<F>) -> Call<'b> {
        file.export.call(self.caller.now)
    }
}
