//! Registry of all connections: their logins, and orders from one connection to another.

#[cfg(feature = "simulation")]
use super::super::mutations::{Mutation, leaves_out};
use super::super::quantum::HostShare;
use crate::notice::Notice;
use block::VolumeId;
use control::{Knock, LoginAttempt, LoginAttempts, RefusedLogins, SessionParameters};
use iscsi::connection::{CloseReason, SessionIdentity};
use iscsi::pdu::LoginStatus;
use jiff::Timestamp;
use qos::HostId;
use scsi_target::NexusId;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};
use uuid::Uuid;

/// Largest number of normal sessions; further logins are refused. The last quarter is reserved for
/// addresses that have few sessions.
pub(crate) const MAX_SESSIONS: usize = 768;
/// Largest number of connections without a normal session (in login, or for discovery). One more
/// closes the oldest of them.
pub(crate) const MAX_CONNECTIONS_WITHOUT_SESSION: usize = 256;

/// Order from another part of the array to a connection.
#[derive(Debug)]
pub(crate) enum Order {
    /// Close, for session reinstatement or by an administrator.
    Close,
    /// Ask the initiator to log out within this number of seconds.
    Leave(u16),
    /// Other connections wait for memory: close if this one holds some and its initiator moves no
    /// data.
    GiveWay,
    /// End all tasks on the volumes without a response, and reply when none can take effect any
    /// more. The reply is true if there were any.
    Abort(Arc<BTreeSet<VolumeId>>, oneshot::Sender<bool>),
    /// Move to the executor of this number when nothing is in flight.
    Move(usize),
    /// Its turns are those of another host from now on.
    Share(Arc<HostShare>),
}

/// Host of a connection.
#[derive(Debug, Default)]
pub(crate) struct MemberHost {
    /// Record that it has logged in as; absent if the initiator belongs to no host.
    pub(super) record: Cell<Option<Uuid>>,
    /// Host whose limits and share it has; absent before a normal session.
    pub(super) share: RefCell<Option<Arc<HostShare>>>,
}

/// Connection as other connections see it.
#[derive(Debug)]
pub(crate) struct Member {
    pub(super) id: u64,
    pub(super) portal: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) session: RefCell<Option<SessionIdentity>>,
    /// What its login has negotiated.
    pub(super) parameters: Cell<SessionParameters>,
    /// Largest TCP segment at its login.
    pub(super) mss_bytes: Cell<Option<u32>>,
    pub(super) host: MemberHost,
    pub(super) nexus: Cell<Option<NexusId>>,
    /// True if it has a normal session.
    pub(super) normal: Cell<bool>,
    pub(super) since: Cell<Option<Timestamp>>,
    pub(super) last_io: Cell<Option<Instant>>,
    pub(super) commands: Cell<u64>,
    pub(super) read_bytes: Cell<u64>,
    pub(super) written_bytes: Cell<u64>,
    pub(super) orders: RefCell<Vec<Order>>,
    pub(super) wake: Rc<Notify>,
    /// Notified when the connection's last task is done and its nexus has ended.
    pub(super) ended: Notify,
    pub(super) gone: Cell<bool>,
    /// True if it was ordered to close to make room; it is no longer counted.
    pub(super) leaving: Cell<bool>,
    /// Number of the executor that serves it; 0 is the reactor's thread.
    pub(super) executor: Cell<usize>,
}

impl Member {
    /// Sends an order.
    pub fn order(&self, order: Order) {
        self.orders.borrow_mut().push(order);
        #[cfg(feature = "simulation")]
        if leaves_out(Mutation::OrderWakes) {
            return;
        }
        self.wake.notify_one();
    }

    /// Waits until the connection has ended.
    pub async fn wait_gone(&self) {
        loop {
            let ended = self.ended.notified();
            if self.gone.get() {
                return;
            }
            ended.await;
        }
    }
}

/// Connections that ended for other reasons than a logout or a disconnect by the initiator.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    /// Closed to make room for other connections.
    pub displaced: Notice,
    /// Login refused.
    pub login_failed: Notice,
    /// Login refused for a reason that an administrator has to know, and that is logged nowhere
    /// else.
    pub login_refused: Notice,
    /// Refused logins since the last event about them.
    pub refused: Refused,
    /// Login refused at the session limit.
    pub sessions_full: Notice,
    /// Login timed out.
    pub login_timeout: Notice,
    /// Protocol error or wrong digest.
    pub protocol_error: Notice,
}

/// Refused logins since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct Refused(RefCell<Option<RefusedLogins>>);

impl Refused {
    /// Adds one, unless it was a redirect.
    pub fn add(&self, status: LoginStatus, initiator: &str, peer: SocketAddr, reason: &'static str) {
        if matches!(status, LoginStatus::TARGET_MOVED_TEMPORARILY | LoginStatus::TARGET_MOVED_PERMANENTLY) {
            return;
        }
        let mut refused = self.0.borrow_mut();
        let count = refused.as_ref().map_or(0, |refused| refused.count).saturating_add(1);
        *refused = Some(RefusedLogins { count, initiator: initiator.to_owned(), peer, reason });
    }

    /// Takes them.
    pub fn take(&self) -> Option<RefusedLogins> {
        self.0.take()
    }
}

impl Closed {
    /// Counts a failed login. If it is to be logged, returns the number of such failures. A redirect
    /// is no failure, and the session limit has its own message.
    pub fn count_refusal(&self, status: LoginStatus, now: Instant) -> Option<u64> {
        match status {
            LoginStatus::TARGET_MOVED_TEMPORARILY
            | LoginStatus::TARGET_MOVED_PERMANENTLY
            | LoginStatus::OUT_OF_RESOURCES => None,
            _ => self.login_refused.count(now),
        }
    }

    /// Counts the end of a connection. If a log message is due, returns the number of endings of
    /// this kind.
    pub fn count(&self, reason: &CloseReason, now: Instant) -> Option<u64> {
        match reason {
            CloseReason::LoginFailed(..) => self.login_failed.count(now),
            CloseReason::LoginTimeout => self.login_timeout.count(now),
            CloseReason::ProtocolError(_) | CloseReason::DigestError => self.protocol_error.count(now),
            CloseReason::LoggedOut
            | CloseReason::KeepaliveTimeout
            | CloseReason::LogoutTimeout
            | CloseReason::Requested => None,
        }
    }
}

/// Registry of all connections.
#[derive(Default)]
pub(crate) struct Registry {
    /// Counters of ended connections.
    pub closed: Closed,
    /// Last login attempts.
    attempts: RefCell<LoginAttempts>,
    members: RefCell<BTreeMap<u64, Rc<Member>>>,
    next_id: Cell<u64>,
    next_tsih: Cell<u16>,
}

impl Registry {
    /// Keeps a login attempt. `is_known`: its name is that of a host.
    pub fn knocked(&self, knock: Knock, is_known: bool, now: Timestamp) {
        self.attempts.borrow_mut().add(knock, is_known, now);
    }

    /// Last login attempts, oldest first.
    pub fn attempts(&self) -> Vec<Arc<LoginAttempt>> {
        self.attempts.borrow().all()
    }

    /// Last login attempts, oldest first, if there is one since the last call.
    pub fn take_changed_attempts(&self) -> Option<Vec<Arc<LoginAttempt>>> {
        self.attempts.borrow_mut().take_changed()
    }

    /// True if `address` may have one more normal session of `most`, after `ending` sessions have
    /// ended. The last quarter is reserved for addresses with less than a quarter, so that no
    /// address takes every session.
    pub fn has_room(&self, address: IpAddr, ending: usize, most: usize) -> bool {
        let members = self.members.borrow();
        let normal = || members.values().filter(|member| member.normal.get());
        let all = normal().count().saturating_sub(ending);
        let own = normal().filter(|member| member.peer.ip() == address).count().saturating_sub(ending);
        all < most && (all < most - most / 4 || own < most / 4)
    }

    /// Numbers of connections with and without a normal session.
    pub fn counts(&self) -> (usize, usize) {
        let members = self.members.borrow();
        let with_session = members.values().filter(|member| member.normal.get()).count();
        (with_session, members.len() - with_session)
    }

    /// Makes room for one more connection without a normal session: if there are `most` or more,
    /// the oldest is closed of the address with the most of them. An address that opens many silent
    /// connections thus displaces its own. Returns the address.
    pub fn make_room(&self, most: usize) -> Option<IpAddr> {
        let members = self.members.borrow();
        let waiting = || members.values().filter(|member| !member.normal.get() && !member.leaving.get());
        if waiting().count() < most {
            return None;
        }
        let mut by_address: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for member in waiting() {
            *by_address.entry(member.peer.ip()).or_default() += 1;
        }
        let (address, _) = by_address.into_iter().max_by_key(|(_, count)| *count)?;
        let oldest = waiting().find(|member| member.peer.ip() == address)?;
        oldest.leaving.set(true);
        oldest.order(Order::Close);
        Some(address)
    }

    /// Registers a new connection.
    pub fn join(&self, portal: SocketAddr, peer: SocketAddr) -> Rc<Member> {
        let id = self.next_id.get() + 1;
        self.next_id.set(id);
        let member = Rc::new(Member {
            id,
            portal,
            peer,
            session: RefCell::new(None),
            parameters: Cell::default(),
            mss_bytes: Cell::new(None),
            host: MemberHost::default(),
            nexus: Cell::new(None),
            normal: Cell::new(false),
            since: Cell::new(None),
            last_io: Cell::new(None),
            commands: Cell::new(0),
            read_bytes: Cell::new(0),
            written_bytes: Cell::new(0),
            orders: RefCell::new(Vec::new()),
            wake: Rc::default(),
            ended: Notify::new(),
            gone: Cell::new(false),
            leaving: Cell::new(false),
            executor: Cell::new(0),
        });
        self.members.borrow_mut().insert(id, member.clone());
        member
    }

    /// Removes a connection that is over.
    pub fn leave(&self, member: &Member) {
        self.members.borrow_mut().remove(&member.id);
        member.gone.set(true);
        member.ended.notify_waiters();
    }

    /// Host whose limits a nexus has.
    pub fn host_of(&self, nexus: NexusId) -> Option<HostId> {
        let members = self.members.borrow();
        let member = members.values().find(|member| member.nexus.get() == Some(nexus))?;
        member.host.share.borrow().as_ref().map(|share| share.host())
    }

    /// All connections.
    pub fn members(&self) -> Vec<Rc<Member>> {
        self.members.borrow().values().cloned().collect()
    }

    /// Sessions of the same initiator port and target port, except that of `but`: those that a new
    /// login reinstates.
    pub fn same_nexus(&self, identity: &SessionIdentity, but: u64) -> Vec<Rc<Member>> {
        self.members()
            .into_iter()
            .filter(|m| m.id != but)
            .filter(|m| {
                m.session.borrow().as_ref().is_some_and(|s| {
                    s.initiator_name == identity.initiator_name
                        && s.isid == identity.isid
                        && s.session_type == identity.session_type
                        && s.target_name == identity.target_name
                        && s.target_portal_group_tag == identity.target_portal_group_tag
                })
            })
            .collect()
    }

    /// True if the session exists.
    pub fn has_session(&self, tsih: u16) -> bool {
        self.members().iter().any(|m| m.session.borrow().as_ref().is_some_and(|s| s.tsih == tsih))
    }

    /// Returns a TSIH that no session has.
    pub fn new_tsih(&self) -> u16 {
        loop {
            let tsih = self.next_tsih.get().wrapping_add(1);
            self.next_tsih.set(tsih);
            if tsih != 0 && !self.has_session(tsih) {
                return tsih;
            }
        }
    }

    /// Asks every initiator to log out, waits for that time, then closes the remaining connections
    /// and waits for them.
    pub async fn shut_down(&self, seconds: u16) {
        for member in self.members() {
            member.order(Order::Leave(seconds));
        }
        let all_gone = async {
            for member in self.members() {
                member.wait_gone().await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(u64::from(seconds) + 1), all_gone).await.is_ok() {
            return;
        }
        for member in self.members() {
            member.order(Order::Close);
        }
        let rest = async {
            for member in self.members() {
                member.wait_gone().await;
            }
        };
        let _stuck = tokio::time::timeout(Duration::from_secs(5), rest).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(registry: &Registry, peer: &str) -> Rc<Member> {
        let portal = SocketAddr::from(([127, 0, 0, 1], 3260));
        let peer = SocketAddr::new(peer.parse().unwrap_or(portal.ip()), 40_000);
        registry.join(portal, peer)
    }

    fn closed(member: &Member) -> bool {
        matches!(member.orders.borrow().as_slice(), [Order::Close])
    }

    /// The oldest connection of the address with the most of them makes room; connections with a
    /// session never do.
    #[test]
    fn connections_without_a_session_make_room_for_new_ones() {
        let registry = Registry::default();
        let session = join(&registry, "10.0.0.1");
        session.normal.set(true);
        let other = join(&registry, "10.0.0.2");
        let silent: Vec<_> = (0..3).map(|_| join(&registry, "10.0.0.1")).collect();
        assert_eq!(registry.make_room(5), None);
        assert_eq!(registry.make_room(4), Some(session.peer.ip()));
        assert_eq!(registry.make_room(4), None, "the one that leaves does not count");
        let newest = join(&registry, "10.0.0.1");
        assert_eq!(registry.make_room(4), Some(session.peer.ip()));
        assert_eq!(silent.iter().map(|member| closed(member)).collect::<Vec<_>>(), [true, true, false]);
        assert!(!closed(&session) && !closed(&other) && !closed(&newest));
    }

    /// Regression: one machine could open every session, under any number of names, and no other
    /// could log in.
    #[test]
    fn one_address_cannot_have_every_session() {
        let registry = Registry::default();
        let open = |peer: &str| join(&registry, peer).normal.set(true);
        let room = |peer: &str, ending| registry.has_room(peer.parse().unwrap_or(IpAddr::from([0; 4])), ending, 16);
        for _ in 0..12 {
            assert!(room("10.0.0.1", 0));
            open("10.0.0.1");
        }
        assert!(!room("10.0.0.1", 0) && room("10.0.0.1", 1), "one that is reinstated makes its own room");
        for _ in 0..4 {
            assert!(room("10.0.0.2", 0));
            open("10.0.0.2");
        }
        assert!(!room("10.0.0.3", 0));
    }
}
