//! What an administrator sees of the clients of NFSv4, and does with them.

use super::Nfs;
use control::{NfsClientInfo, NfsClientStanding, NfsGrace, NfsLockInfo, NfsPart, NfsPosition};
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use media::Media;
use nfs_state::{ClientStanding, ClientView, LockView, Page};
use pool::ObjectId;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

/// Length of a range without an end.
const TO_THE_END: u64 = u64::MAX;

impl<M: Media + 'static> Nfs<M> {
    /// At most `most` clients, from a position on.
    pub(crate) fn clients(&self, from: NfsPosition, most: usize) -> NfsPart<NfsClientInfo> {
        let Some(v4) = self.service.version_4() else { return NfsPart { elements: Vec::new(), next: None } };
        let (uptime, now) = (self.service.uptime(), self.reactor.environment.now());
        let page = v4.state().list_clients(u64::try_from(from).unwrap_or(u64::MAX), most, uptime);
        part(page, |client| client_info(client, uptime, now))
    }

    /// At most `most` locked ranges in a share or snapshot, or in all, from a position on.
    pub(crate) fn locks(&self, of: Option<ObjectId>, from: NfsPosition, most: usize) -> NfsPart<NfsLockInfo> {
        let Some(v4) = self.service.version_4() else { return NfsPart { elements: Vec::new(), next: None } };
        let page = v4.state().list_locks(of.map(|of| of.0), from, most);
        part(page, lock_info)
    }

    /// Grace period.
    pub(crate) fn grace(&self) -> NfsGrace {
        let Some(v4) = self.service.version_4() else { return NfsGrace::default() };
        let totals = v4.state().totals(self.service.uptime());
        let seconds = totals.grace.as_secs() + u64::from(totals.grace.subsec_nanos() > 0);
        NfsGrace { seconds, reclaiming: totals.reclaiming as u64 }
    }

    /// Addresses of the server as hosts see them.
    pub(crate) fn portals(&self) -> &[String] {
        &self.portals
    }

    /// Addresses with open connections, in order.
    pub(crate) fn addresses(&self) -> Vec<IpAddr> {
        self.service.registry.addresses()
    }

    /// Position of the rule of a share that decides about an address, in the order of the directory.
    pub(crate) fn deciding_rule(&self, share: ObjectId, address: IpAddr) -> Option<usize> {
        self.service.shares().borrow().by_object(share.0)?.rules.deciding(address)
    }

    /// Revokes what a client has. False if there is no such client. Ready when nothing of the client is in progress.
    pub(crate) fn expire_client(&self, id: u64) -> LocalBoxFuture<'static, bool> {
        let service = Rc::clone(&self.service);
        Box::pin(async move { service.expire_client(id).await })
    }
}

fn part<T, U, P: Into<NfsPosition>>(page: Page<T, P>, convert: impl Fn(T) -> U) -> NfsPart<U> {
    NfsPart { elements: page.elements.into_iter().map(convert).collect(), next: page.next.map(P::into) }
}

/// Longest part of a name that a client chose which is shown, in bytes. Lists have it once for each lock.
const SHOWN_BYTES: usize = 64;

/// Text of a name that a client chose: bytes that are no text are replaced, and a long one is cut.
fn text(name: &[u8]) -> String {
    match name.split_at_checked(SHOWN_BYTES) {
        Some((begin, rest)) if !rest.is_empty() => format!("{}…", String::from_utf8_lossy(begin)),
        _ => String::from_utf8_lossy(name).into_owned(),
    }
}

fn client_info(client: ClientView, uptime: Duration, now: Timestamp) -> NfsClientInfo {
    let ClientView { id, owner, implementation, standing, renewed, reclaim_complete, sessions, holdings } = client;
    let age = uptime.saturating_sub(renewed);
    NfsClientInfo {
        id,
        owner: text(&owner),
        implementation,
        standing: match standing {
            ClientStanding::Unconfirmed => NfsClientStanding::Unconfirmed,
            ClientStanding::Active => NfsClientStanding::Active,
            ClientStanding::Courteous => NfsClientStanding::Courteous,
        },
        renewed: now.checked_sub(age).unwrap_or(now),
        reclaim_complete,
        sessions: sessions as u64,
        opens: holdings.opens.into(),
        locks: holdings.lock_stateids.into(),
        copies: holdings.copies.into(),
        revoked: u64::from(holdings.expired) + u64::from(holdings.revoked),
    }
}

fn lock_info(lock: LockView) -> NfsLockInfo {
    let LockView { client, file, owner, offset_bytes, length_bytes, exclusive } = lock;
    NfsLockInfo {
        share: ObjectId(file.share),
        file: file.file,
        client,
        owner: text(&owner),
        offset_bytes,
        length_bytes: (length_bytes != TO_THE_END).then_some(length_bytes),
        exclusive,
    }
}
