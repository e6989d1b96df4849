//! EXCHANGE_ID (RFC 8881 §18.35).

use std::time::Duration;

use bytes::Bytes;
use nfs::v4::Status;
use nfs::v4::session::{ExchangeIdArguments, ExchangeIdOk, ServerOwner, StateProtected, StateProtection, exchange_id};
use xdr::Opaque;

use super::State;
use crate::caller::Caller;
use crate::clients::Identification;
use crate::table::Key;

/// Longest name of an implementation that is kept, in bytes.
const MAX_IMPLEMENTATION_BYTES: usize = 128;

/// Flags that a client may set in every minor version.
const REQUEST_FLAGS: u32 = exchange_id::SUPPORTS_MOVED_REFERRAL
    | exchange_id::SUPPORTS_MOVED_MIGRATION
    | exchange_id::BIND_PRINCIPAL_STATEID
    | exchange_id::USE_NON_PNFS
    | exchange_id::USE_PNFS_MDS
    | exchange_id::USE_PNFS_DS
    | exchange_id::UPDATE_CONFIRMED_RECORD;

/// Flags that minor version 2 adds, in requests and replies (RFC 7862 §14.1).
const fn flags_of(minor: u32) -> u32 {
    if minor >= 2 { exchange_id::SUPPORTS_FENCE_OPERATIONS } else { 0 }
}

impl State {
    /// EXCHANGE_ID in a compound of a minor version. Errors: `INVAL`, `ENCR_ALG_UNSUPP`, `CLID_INUSE`, `NOENT`,
    /// `NOT_SAME`, `PERM`, `DELAY`.
    pub fn exchange_id(
        &mut self,
        caller: &Caller,
        arguments: &ExchangeIdArguments,
        minor: u32,
        now: Duration,
    ) -> Result<Box<ExchangeIdOk>, Status> {
        if arguments.flags & !(REQUEST_FLAGS | flags_of(minor)) != 0 {
            return Err(Status::INVAL);
        }
        match arguments.protection {
            StateProtection::None => {}
            StateProtection::MachineCredential(_) => return Err(Status::INVAL),
            StateProtection::Ssv(_) => return Err(Status::ENCR_ALG_UNSUPP),
        }
        let key = match arguments.flags & exchange_id::UPDATE_CONFIRMED_RECORD {
            0 => self.identify(caller, arguments, now)?,
            _ => self.update(caller, arguments)?,
        };
        let client = self.clients.get(key).ok_or(Status::SERVERFAULT)?;
        let confirmed = if client.is_confirmed() { exchange_id::CONFIRMED } else { 0 };
        let identity = &self.config.identity;
        Ok(Box::new(ExchangeIdOk {
            client: client.id(),
            sequence: client.next_sequence(),
            flags: exchange_id::USE_NON_PNFS | confirmed | flags_of(minor),
            protection: StateProtected::None,
            owner: ServerOwner { minor: 0, major: Opaque::from(identity.server_owner.clone()) },
            scope: Opaque::from(identity.scope.clone()),
            implementation: identity.implementation.clone(),
        }))
    }

    /// Cases 6 to 9 of RFC 8881 §18.35.4: an update of a confirmed record.
    fn update(&mut self, caller: &Caller, arguments: &ExchangeIdArguments) -> Result<Key, Status> {
        let key = self.clients.confirmed(&arguments.owner.owner).ok_or(Status::NOENT)?;
        let client = self.clients.get_mut(key).ok_or(Status::NOENT)?;
        if client.identification().principal != caller.principal {
            return Err(Status::PERM);
        }
        if client.identification().verifier != arguments.owner.verifier {
            return Err(Status::NOT_SAME);
        }
        client.update(implementation(arguments));
        Ok(key)
    }

    /// Cases 1 to 5: the confirmed client, or a new one that is not confirmed.
    fn identify(&mut self, caller: &Caller, arguments: &ExchangeIdArguments, now: Duration) -> Result<Key, Status> {
        let owner = &arguments.owner.owner;
        let confirmed = self.clients.confirmed(owner);
        let mut replaced = None;
        if let Some((key, client)) = confirmed.and_then(|key| Some((key, self.clients.get(key)?))) {
            let known = client.identification();
            let same_principal = known.principal == caller.principal;
            if same_principal && known.verifier == arguments.owner.verifier {
                return Ok(key);
            }
            if !same_principal {
                if self.files.held(key).is_live() && !self.is_courteous(key, now) {
                    return Err(Status::CLID_INUSE);
                }
                replaced = Some(key);
            }
        }
        let unconfirmed = self.clients.unconfirmed(owner);
        if replaced.is_none() && unconfirmed.is_none() {
            self.make_room_for_client(now)?;
        }
        for key in replaced.into_iter().chain(unconfirmed) {
            self.remove_client(key, now);
        }
        let identification = Identification {
            // A slice of a message would keep all of it.
            owner: Bytes::copy_from_slice(owner),
            verifier: arguments.owner.verifier,
            principal: caller.principal,
            implementation: implementation(arguments),
        };
        Ok(self.clients.insert(identification, now))
    }

    /// Makes room for one more client that is not confirmed. `DELAY`: every client keeps its lease.
    fn make_room_for_client(&mut self, now: Duration) -> Result<(), Status> {
        let limits = &self.config.limits;
        let mut victim = None;
        if self.clients.unconfirmed_len() >= limits.unconfirmed_clients as usize {
            victim = self.clients.oldest_unconfirmed().map(|(_, key)| key);
        } else if self.clients.len() >= limits.clients {
            let silent = self.clients.iter_from(0).filter(|(key, _)| self.is_courteous(*key, now));
            victim = silent.min_by_key(|(_, client)| client.renewed()).map(|(key, _)| key);
            victim = Some(victim.ok_or(Status::DELAY)?);
        }
        if let Some(key) = victim {
            self.remove_client(key, now);
        }
        Ok(())
    }
}

/// Name of the client's implementation, for administrators.
fn implementation(arguments: &ExchangeIdArguments) -> String {
    let name = arguments.implementation.as_ref().map(|implementation| &*implementation.name).unwrap_or_default();
    String::from_utf8_lossy(name.get(..MAX_IMPLEMENTATION_BYTES).unwrap_or(name)).into_owned()
}
