//! Connections of the NFS server.

use super::super::clock;
use crate::notice::Notice;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Most connections.
pub(super) const MAX_CONNECTIONS: usize = 1024;

/// Order to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Close.
    Close,
    /// Take no more calls, and close after the last reply.
    Leave,
    /// Other connections wait for memory: close if this one holds some and its host moves no data.
    GiveWay,
}

/// Connection as others see it.
#[derive(Debug)]
pub(super) struct Member {
    /// Number, not used for another connection in this run.
    pub id: u64,
    pub peer: SocketAddr,
    pub wake: Rc<Notify>,
    orders: RefCell<Vec<Order>>,
    /// Calls of the server that are to be sent.
    callbacks: RefCell<VecDeque<Vec<Bytes>>>,
    /// Number of calls in progress.
    calls: Cell<usize>,
    /// Last valid call or answer to a callback, or the begin of the connection.
    active: Cell<Instant>,
    /// True if it was ordered to close to make room; it is no longer counted.
    leaving: Cell<bool>,
    /// True if its client sends no more.
    ended: Cell<bool>,
}

impl Member {
    /// Sends an order.
    pub fn order(&self, order: Order) {
        self.orders.borrow_mut().push(order);
        self.wake.notify_one();
    }

    /// Notes that the client sends no more: it cannot answer callbacks.
    pub fn end(&self) {
        self.ended.set(true);
    }

    /// Takes the orders.
    pub fn take_orders(&self) -> Vec<Order> {
        self.orders.take()
    }

    /// True if records of callbacks are to be sent.
    pub fn has_callbacks(&self) -> bool {
        !self.callbacks.borrow().is_empty()
    }

    /// Takes the record of the next callback, if there is memory for as many bytes as it has.
    pub fn next_callback(&self, has_memory: impl FnOnce(usize) -> bool) -> Option<Vec<Bytes>> {
        let mut callbacks = self.callbacks.borrow_mut();
        let bytes = callbacks.front()?.iter().map(Bytes::len).sum();
        if has_memory(bytes) { callbacks.pop_front() } else { None }
    }

    /// Notes a valid call or an answer to a callback, and the number of calls in progress.
    pub fn note(&self, calls: usize, active: Instant) {
        self.calls.set(calls);
        self.active.set(active);
    }

    /// Last valid call or answer to a callback, or the begin of the connection.
    pub fn active(&self) -> Instant {
        self.active.get()
    }
}

/// Counters since the start.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// Closed to make room for others.
    pub displaced: Notice,
    /// Not accepted: all others have calls in progress.
    pub refused: Notice,
    /// Closed because what came was no stream of calls.
    pub malformed: Notice,
    /// Closed because no valid call came for some time.
    pub idle: Notice,
}

/// All connections.
#[derive(Default)]
pub(super) struct Registry {
    pub closed: Closed,
    members: RefCell<BTreeMap<u64, Rc<Member>>>,
    last_id: Cell<u64>,
    /// Notified when a connection is gone.
    left: Notify,
}

impl Registry {
    /// Addresses with connections, in order.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let addresses: BTreeSet<IpAddr> = self.members.borrow().values().map(|member| member.peer.ip()).collect();
        addresses.into_iter().collect()
    }

    /// Registers a connection. If there are too many, one without calls in progress is closed: of the address with
    /// the most of them the one whose last call is longest ago. Without such a one, returns `None`.
    pub fn join(&self, peer: SocketAddr) -> Option<Rc<Member>> {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        if !self.make_room() {
            return None;
        }
        let id = self.last_id.get() + 1;
        self.last_id.set(id);
        let member = Rc::new(Member {
            id,
            peer,
            wake: Rc::default(),
            orders: RefCell::default(),
            callbacks: RefCell::default(),
            calls: Cell::default(),
            active: Cell::new(clock::now()),
            leaving: Cell::default(),
            ended: Cell::default(),
        });
        self.members.borrow_mut().insert(id, Rc::clone(&member));
        Some(member)
    }

    fn make_room(&self) -> bool {
        let members = self.members.borrow();
        let counted = || members.values().filter(|member| !member.leaving.get());
        if counted().count() < MAX_CONNECTIONS {
            return true;
        }
        let mut by_address: BTreeMap<IpAddr, usize> = BTreeMap::new();
        counted().for_each(|member| *by_address.entry(member.peer.ip()).or_default() += 1);
        let idle = counted().filter(|member| member.calls.get() == 0);
        let number = |member: &Member| by_address.get(&member.peer.ip()).copied().unwrap_or_default();
        let found = idle.max_by_key(|member| (number(member), std::cmp::Reverse(member.active.get())));
        let Some(member) = found else { return false };
        if let Some(count) = self.closed.displaced.count(clock::now()) {
            let address = member.peer.ip();
            tracing::warn!(%address, count, "there are {MAX_CONNECTIONS} NFS connections: each new one closes one without calls");
        }
        member.leaving.set(true);
        member.order(Order::Close);
        true
    }

    /// Removes a connection that is over.
    pub fn leave(&self, member: &Member) {
        self.members.borrow_mut().remove(&member.id);
        self.left.notify_waiters();
    }

    /// Sends an order to all connections.
    pub fn order(&self, order: Order) {
        self.members.borrow().values().for_each(|member| member.order(order));
    }

    /// Sends the record of a callback on a connection. False if it is gone, or has ended.
    pub fn send(&self, connection: u64, record: Vec<Bytes>) -> bool {
        let members = self.members.borrow();
        let Some(member) = members.get(&connection).filter(|member| !member.ended.get()) else { return false };
        member.callbacks.borrow_mut().push_back(record);
        member.wake.notify_one();
        true
    }

    /// Number of connections.
    pub fn count(&self) -> usize {
        self.members.borrow().len()
    }

    /// Lets replies to the calls in progress leave for that time, then closes all connections and waits for them.
    pub async fn shut_down(&self, time: Duration) {
        for order in [Order::Leave, Order::Close] {
            self.order(order);
            if tokio::time::timeout(time, self.all_gone()).await.is_ok() {
                return;
            }
        }
    }

    async fn all_gone(&self) {
        loop {
            let left = self.left.notified();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(registry: &Registry, address: [u8; 4]) -> Option<Rc<Member>> {
        registry.join(SocketAddr::from((address, 900)))
    }

    /// Connections that one address floods the server with displace its own, not those of others.
    #[test]
    fn a_flood_displaces_its_own_connections() {
        let registry = Registry::default();
        let other = join(&registry, [10, 0, 0, 1]).expect("there is room");
        let flood: Vec<_> = (1..MAX_CONNECTIONS).filter_map(|_| join(&registry, [10, 0, 0, 2])).collect();
        assert_eq!(flood.len(), MAX_CONNECTIONS - 1);
        let now = clock::now();
        flood[0].note(1, now);
        flood[1].note(0, now + Duration::from_secs(1));
        assert!(join(&registry, [10, 0, 0, 2]).is_some());
        assert_eq!(flood[2].take_orders(), [Order::Close]);
        assert!(join(&registry, [10, 0, 0, 3]).is_some(), "one that leaves is not counted");
        for member in [&other, &flood[0], &flood[1]] {
            assert_eq!(member.take_orders(), []);
        }
        assert_eq!(registry.closed.displaced.total(), 2);
    }

    /// A callback for a connection whose calls were still in progress was lost: it was sent again after a lease.
    #[test]
    fn nothing_is_sent_to_a_client_that_has_ended() {
        let registry = Registry::default();
        let member = join(&registry, [10, 0, 0, 1]).expect("there is room");
        assert!(registry.send(member.id, vec![Bytes::from_static(b"call")]));
        assert!(member.next_callback(|bytes| bytes == 4).is_some());
        member.end();
        assert!(!registry.send(member.id, vec![Bytes::from_static(b"call")]));
        assert!(!member.has_callbacks());
    }

    #[test]
    fn busy_connections_are_not_displaced() {
        let registry = Registry::default();
        let all: Vec<_> = (0..MAX_CONNECTIONS).filter_map(|_| join(&registry, [10, 0, 0, 2])).collect();
        all.iter().for_each(|member| member.note(1, clock::now()));
        assert!(join(&registry, [10, 0, 0, 1]).is_none());
        registry.leave(&all[0]);
        assert!(join(&registry, [10, 0, 0, 1]).is_some());
    }
}
