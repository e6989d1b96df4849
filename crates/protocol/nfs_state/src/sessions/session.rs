//! A session: its channels, slots and connections.

use std::time::Duration;

use bytes::Bytes;
use nfs::v4::session::{CallbackSecurity, ChannelAttributes, SequenceArguments};
use nfs::v4::{SessionId, Status};

use super::NewSession;
use super::slot::{Slot, Standing};
use crate::caller::{ConnectionId, Request};
use crate::table::Key;

/// Slots of a back channel that are used.
const BACK_SLOTS: u32 = 2;

/// Channels that a connection belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Fore,
    Back,
    Both,
}

impl Direction {
    /// Whether requests from the server may be sent.
    pub(crate) const fn has_back(self) -> bool {
        matches!(self, Self::Back | Self::Both)
    }
}

/// How callbacks are sent.
#[derive(Clone, Debug)]
pub(crate) struct CallbackParameters {
    /// Program.
    pub program: u32,
    /// Credential; `None` if the client accepts none that this server has.
    pub security: Option<CallbackSecurity>,
}

/// Slot of the back channel.
#[derive(Clone, Copy, Debug)]
struct BackSlot {
    /// Of the last request.
    sequence: u32,
    busy: bool,
    /// Whether the client has executed the last request is not known.
    in_doubt: bool,
}

#[derive(Debug)]
pub(crate) struct Session {
    id: SessionId,
    client: Key,
    fore: ChannelAttributes,
    back: ChannelAttributes,
    slots: Vec<Slot>,
    /// Associations, the oldest first.
    connections: Vec<(ConnectionId, Direction)>,
    callbacks: CallbackParameters,
    back_slots: Vec<BackSlot>,
    /// The client's replies on the back channel made no sense.
    back_fault: bool,
}

impl Session {
    pub(super) fn new(id: SessionId, new: NewSession) -> Self {
        let back_slots = new.back.max_requests.min(BACK_SLOTS);
        Self {
            id,
            client: new.client,
            slots: (0..new.fore.max_requests).map(|_| Slot::default()).collect(),
            fore: new.fore,
            back: new.back,
            connections: Vec::new(),
            callbacks: new.callbacks,
            back_slots: (0..back_slots).map(|_| BackSlot { sequence: 0, busy: false, in_doubt: false }).collect(),
            back_fault: false,
        }
    }

    pub(crate) const fn id(&self) -> &SessionId {
        &self.id
    }
    pub(crate) const fn client(&self) -> Key {
        self.client
    }
    pub(crate) const fn fore(&self) -> &ChannelAttributes {
        &self.fore
    }
    pub(crate) const fn cached_reply_bytes(&self) -> u32 {
        self.fore.max_cached_response_bytes
    }
    pub(crate) fn slot_count(&self) -> u32 {
        // As many as a channel attribute says.
        self.slots.len() as u32
    }
    pub(crate) fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.connections.iter().map(|(connection, _)| *connection)
    }
    pub(crate) fn direction(&self, connection: ConnectionId) -> Option<Direction> {
        self.connections.iter().find(|(other, _)| *other == connection).map(|(_, direction)| *direction)
    }

    /// Number of requests in progress.
    pub(crate) fn busy(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_busy()).count()
    }

    /// Bytes of all replies.
    pub(super) fn replies_bytes(&self) -> u64 {
        self.slots.iter().map(Slot::kept_bytes).sum()
    }
    pub(super) fn kept_bytes(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).map_or(0, Slot::kept_bytes)
    }

    /// What a request is to its slot; `BADSLOT` or `BAD_HIGH_SLOT` for slots that there are not.
    pub(super) fn standing(&self, request: &Request, arguments: &SequenceArguments) -> Result<Standing, Status> {
        let slot = self.slots.get(arguments.slot as usize).ok_or(Status::BADSLOT)?;
        if arguments.highest_slot >= self.slot_count() {
            return Err(Status::BAD_HIGH_SLOT);
        }
        slot.standing(arguments.sequence, request)
    }

    pub(super) fn enter(&mut self, request: &Request, arguments: &SequenceArguments, reserved_bytes: u32) {
        if let Some(slot) = self.slots.get_mut(arguments.slot as usize) {
            slot.enter(arguments.sequence, request, reserved_bytes);
        }
    }

    /// Takes a slot with any sequence id.
    #[cfg(test)]
    pub(crate) fn jump(&mut self, request: &Request, arguments: &SequenceArguments) {
        self.enter(request, arguments, 0);
    }

    pub(super) fn leave(&mut self, slot: u32, reply: Option<Bytes>, now: Duration) -> (u64, u64) {
        self.slots.get_mut(slot as usize).map_or((0, 0), |slot| slot.leave(reply, now))
    }

    pub(super) fn trim(&mut self, first: u32, before: Duration) -> u64 {
        self.slots.iter_mut().skip(first as usize).map(|slot| slot.trim(before)).sum()
    }

    /// Adds or changes an association; returns the one that had to give way.
    pub(super) fn associate(&mut self, new: ConnectionId, direction: Direction, most: usize) -> Option<ConnectionId> {
        if let Some((_, old)) = self.connections.iter_mut().find(|(other, _)| *other == new) {
            *old = direction;
            return None;
        }
        self.connections.push((new, direction));
        if self.connections.len() <= most.max(1) {
            return None;
        }
        let fore_only = self.connections.iter().position(|(_, direction)| *direction == Direction::Fore);
        Some(self.connections.remove(fore_only.unwrap_or(0)).0)
    }

    pub(super) fn dissociate(&mut self, connection: ConnectionId) {
        self.connections.retain(|(other, _)| *other != connection);
    }

    /// Connection for callbacks, the newest: it is the least likely to be broken.
    pub(crate) fn back_connection(&self) -> Option<ConnectionId> {
        if self.back_fault || self.callbacks.security.is_none() {
            return None;
        }
        self.connections.iter().rev().find(|(_, direction)| direction.has_back()).map(|(connection, _)| *connection)
    }
    /// Whether a connection is the only one for callbacks.
    pub(crate) fn has_only_back(&self, connection: ConnectionId) -> bool {
        let is_other = |(other, direction): &(ConnectionId, Direction)| *other != connection && direction.has_back();
        self.back_connection() == Some(connection) && !self.connections.iter().any(is_other)
    }
    pub(crate) const fn back_fault(&self) -> bool {
        self.back_fault
    }
    pub(crate) fn set_back_fault(&mut self, fault: bool) {
        self.back_fault = fault;
    }
    pub(crate) const fn callbacks(&self) -> &CallbackParameters {
        &self.callbacks
    }
    pub(crate) fn set_callbacks(&mut self, callbacks: CallbackParameters) {
        self.callbacks = callbacks;
    }
    pub(crate) const fn back(&self) -> &ChannelAttributes {
        &self.back
    }

    pub(crate) fn highest_back_slot(&self) -> u32 {
        // At most BACK_SLOTS.
        (self.back_slots.len() as u32).saturating_sub(1)
    }

    /// Takes a free slot of the back channel with its next sequence id.
    pub(crate) fn take_back_slot(&mut self) -> Option<(u32, u32)> {
        let (index, slot) = (0..).zip(&mut self.back_slots).find(|(_, slot)| !slot.busy)?;
        slot.busy = true;
        slot.sequence = slot.sequence.wrapping_add(1);
        Some((index, slot.sequence))
    }

    /// Frees a slot of the back channel, after a reply.
    pub(crate) fn free_back_slot(&mut self, index: u32) {
        if let Some(slot) = self.back_slots.get_mut(index as usize) {
            (slot.busy, slot.in_doubt) = (false, false);
        }
    }

    /// Frees a slot of the back channel without a reply of sense. The channel has a fault until the client binds it
    /// again.
    pub(crate) fn doubt_back_slot(&mut self, index: u32) {
        self.back_fault = true;
        if let Some(slot) = self.back_slots.get_mut(index as usize) {
            (slot.busy, slot.in_doubt) = (false, true);
        }
    }

    /// The client expects another sequence id in a slot that a request has. Returns the one before, if the client may
    /// not have executed the request that had it.
    pub(crate) fn step_back_slot_back(&mut self, index: u32) -> Option<u32> {
        let slot = self.back_slots.get_mut(index as usize).filter(|slot| slot.in_doubt)?;
        slot.in_doubt = false;
        slot.sequence = slot.sequence.wrapping_sub(1);
        Some(slot.sequence)
    }
}
