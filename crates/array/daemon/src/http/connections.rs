//! Connections of one listener of the management plane: their limit, and the choice of the one that
//! is closed for a new one.
//!
//! A connection is *idle* while no request is being answered: before the TLS handshake, before the
//! first request, and between requests. It is *trusted* after a request with the right token. When
//! a listener has [`MAX_CONNECTIONS`], a new connection displaces an idle one, from the address
//! with the most of them (as `reactor/iscsi/registry.rs` does for iSCSI), so that silent
//! connections displace each other. Trusted connections are displaced only if there is no other. An
//! untrusted connection counts as idle again when its request takes longer than [`SLOW_REQUEST`].
//!
//! A connection of HTTP/2 has many requests in progress. When a listener has more than
//! [`MAX_REQUESTS`], the connection with the most of the address with the most is closed with all its
//! requests; trusted connections of an address with few requests again only if there is no other.

use crate::network::network;
use reactor::Notice;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Largest number of connections of one listener.
pub(super) const MAX_CONNECTIONS: usize = 128;
/// Largest number of requests in progress of one listener. It bounds the memory for their headers.
const MAX_REQUESTS: usize = 1024;
/// Requests in progress up to which trusted connections of one network are spared while others have some. Without a
/// bound, one token with all requests would keep everybody else out.
const TRUSTED_REQUESTS: usize = MAX_REQUESTS / 4;
/// Interval at which a connection with requests in progress is looked at again for being idle.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a request no longer protects an untrusted connection.
const SLOW_REQUEST: Duration = Duration::from_secs(5);

/// All connections of a listener.
#[derive(Default)]
pub(super) struct Connections {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when a connection ends or becomes idle.
    room: Notify,
}

#[derive(Default)]
struct State {
    next_id: u64,
    members: BTreeMap<u64, Member>,
    /// Connections that were closed for too many requests.
    crowds: Notice,
}

/// Properties of a connection that decide about its displacement.
struct Member {
    /// IPv4 address or IPv6 /64 of the client; `None` on a Unix socket.
    network: Option<IpAddr>,
    trusted: bool,
    /// Number of requests in progress, live streams among them; 0 while idle.
    in_progress: usize,
    /// Time since which requests are in progress; `None` while idle.
    request_since: Option<Instant>,
    /// Number of requests started.
    requests: u64,
    /// Time of the last start or end of a request, or of the connection's start.
    last_active: Instant,
    /// Already asked to close; not counted.
    leaving: bool,
    displaced: Arc<Notify>,
}

impl Member {
    fn displaceable(&self, now: Instant) -> bool {
        match self.request_since {
            None => true,
            Some(since) => !self.trusted && now.saturating_duration_since(since) >= SLOW_REQUEST,
        }
    }

    /// Asks the connection to close. Returns its network.
    fn leave(&mut self) -> Option<IpAddr> {
        self.leaving = true;
        self.displaced.notify_one();
        self.network
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_member(&self, id: u64, change: impl FnOnce(&mut Member)) {
        if let Some(member) = self.state().members.get_mut(&id) {
            change(member);
        }
    }
}

impl State {
    fn counted(&self) -> impl Iterator<Item = (&u64, &Member)> {
        self.members.iter().filter(|(_, member)| !member.leaving)
    }

    /// Asks a connection to close if there are more requests than `most`. Returns its network, and how
    /// many were closed since the last log line, if there is to be one.
    fn relieve(&mut self, most: usize, now: Instant) -> Option<(Option<IpAddr>, u64)> {
        if self.counted().map(|(_, member)| member.in_progress).sum::<usize>() <= most {
            return None;
        }
        let busy = || self.counted().filter(|(_, member)| member.in_progress > 0);
        let mut trusted: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for (_, member) in busy().filter(|(_, member)| member.trusted) {
            *trusted.entry(member.network).or_default() += member.in_progress;
        }
        let is_spared = |member: &Member| member.trusted && trusted.get(&member.network) <= Some(&TRUSTED_REQUESTS);
        let all_spared = busy().all(|(_, member)| is_spared(member));
        let candidates = || busy().filter(|(_, member)| all_spared || !is_spared(member));
        let mut by_network: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for (_, member) in candidates() {
            *by_network.entry(member.network).or_default() += member.in_progress;
        }
        let choice =
            candidates().max_by_key(|(_, member)| (by_network.get(&member.network).copied(), member.in_progress));
        let id = choice.map(|(id, _)| *id)?;
        let network = self.members.get_mut(&id)?.leave();
        Some((network, self.crowds.count(now)?))
    }
}

/// Result of making room for a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// There was a free place.
    Free,
    /// A connection of this network was asked to close.
    Displaced(Option<IpAddr>),
    /// Every connection is serving a client.
    None,
}

impl Connections {
    /// Makes room for one more connection. Waits only while every connection has a request in
    /// progress.
    pub async fn make_room(&self) -> Room {
        loop {
            match self.try_make_room(Instant::now()) {
                Room::None => {}
                room => return room,
            }
            // The timeout detects a request that has become slow.
            let _elapsed = tokio::time::timeout(SLOW_REQUEST / 4, self.shared.room.notified()).await;
        }
    }

    fn try_make_room(&self, now: Instant) -> Room {
        let mut state = self.shared.state();
        let counted = || state.counted();
        if counted().count() < MAX_CONNECTIONS {
            return Room::Free;
        }
        let trusted_too = !counted().any(|(_, member)| !member.trusted && member.displaceable(now));
        let candidates =
            || counted().filter(|(_, member)| member.displaceable(now) && (trusted_too || !member.trusted));
        let mut by_network: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for (_, member) in counted().filter(|(_, member)| trusted_too || !member.trusted) {
            *by_network.entry(member.network).or_default() += 1;
        }
        let choice = candidates().max_by_key(|(_, member)| {
            let most = by_network.get(&member.network).copied().unwrap_or(0);
            (most, Reverse(member.last_active))
        });
        let Some(id) = choice.map(|(id, _)| *id) else { return Room::None };
        let Some(member) = state.members.get_mut(&id) else { return Room::None };
        Room::Displaced(member.leave())
    }

    /// Counts a new connection; `None` is the owner on a Unix socket, who is trusted.
    pub fn join(&self, address: Option<IpAddr>) -> Connection {
        let mut state = self.shared.state();
        let id = state.next_id;
        state.next_id += 1;
        let displaced = Arc::new(Notify::new());
        state.members.insert(
            id,
            Member {
                network: address.map(network),
                trusted: address.is_none(),
                in_progress: 0,
                request_since: None,
                requests: 0,
                last_active: Instant::now(),
                leaving: false,
                displaced: Arc::clone(&displaced),
            },
        );
        let membership = Membership { id, shared: Arc::clone(&self.shared) };
        Connection { membership: Arc::new(membership), displaced }
    }
}

/// Counted connection, until the last clone is dropped.
#[derive(Clone)]
pub(super) struct Connection {
    membership: Arc<Membership>,
    displaced: Arc<Notify>,
}

struct Membership {
    id: u64,
    shared: Arc<Shared>,
}

impl Connection {
    /// Completes when the connection must make room for another.
    pub async fn displaced(&self) {
        self.displaced.notified().await;
    }

    /// Notes whether a request on the connection had the right token.
    pub fn trust(&self, trusted: bool) {
        self.membership.shared.with_member(self.membership.id, |member| member.trusted = trusted);
    }

    /// True if a request has ever started on the connection.
    pub fn has_asked(&self) -> bool {
        let mut asked = false;
        self.membership.shared.with_member(self.membership.id, |member| asked = member.requests > 0);
        asked
    }

    /// Completes when the connection has had no request in progress for so long.
    pub async fn idle(&self, time: Duration) {
        loop {
            let mut left = IDLE_INTERVAL;
            self.membership.shared.with_member(self.membership.id, |member| {
                if member.in_progress == 0 {
                    left = time.saturating_sub(member.last_active.elapsed());
                }
            });
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    /// Starts a request; it ends when the guard is dropped.
    pub fn request(&self) -> RequestGuard {
        let Membership { id, shared } = &*self.membership;
        let now = Instant::now();
        shared.with_member(*id, |member| {
            member.requests += 1;
            member.in_progress += 1;
            member.request_since.get_or_insert(now);
            member.last_active = now;
        });
        if let Some((network, closed)) = shared.state().relieve(MAX_REQUESTS, now) {
            let network = network.map_or_else(|| "local".to_owned(), |network| network.to_string());
            tracing::warn!(
                network,
                closed,
                "a listener of the management plane has {MAX_REQUESTS} requests in progress: connections with many are closed"
            );
        }
        RequestGuard(self.clone())
    }
}

/// Request in progress.
pub(super) struct RequestGuard(Connection);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let Membership { id, shared } = &*self.0.membership;
        shared.with_member(*id, |member| {
            member.in_progress = member.in_progress.saturating_sub(1);
            if member.in_progress == 0 {
                member.request_since = None;
            }
            member.last_active = Instant::now();
        });
        shared.room.notify_one();
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.shared.state().members.remove(&self.id);
        self.shared.room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    fn displaced(from: u8) -> Room {
        Room::Displaced(Some(address(from)))
    }

    fn joined(connections: &Connections, from: u8, count: usize) -> Vec<Connection> {
        (0..count).map(|_| connections.join(Some(address(from)))).collect()
    }

    /// Regression: the oldest connections kept their places. 64 silent connections from four
    /// addresses locked out every administrator for as long as they were renewed.
    #[test]
    fn silent_connections_displace_those_of_the_address_with_the_most() {
        let connections = Connections::default();
        let now = Instant::now();
        assert_eq!(connections.try_make_room(now), Room::Free);
        let _administrator = joined(&connections, 1, 1);
        let _some = joined(&connections, 2, 27);
        let _most = joined(&connections, 3, MAX_CONNECTIONS - 28);
        let mut newcomers = Vec::new();
        for _ in 0..37 {
            assert_eq!(connections.try_make_room(now), displaced(3));
            newcomers.extend(joined(&connections, 2, 1));
        }
        assert_eq!(connections.try_make_room(now), displaced(2));
    }

    /// The oldest connection of that address goes first.
    #[tokio::test]
    async fn the_connection_that_was_idle_longest_goes_first() {
        let connections = Connections::default();
        let all = joined(&connections, 3, MAX_CONNECTIONS);
        drop(all[0].request());
        assert_eq!(connections.make_room().await, displaced(3));
        all[1].displaced().await;
        let kept = tokio::time::timeout(Duration::ZERO, all[0].displaced()).await;
        assert!(kept.is_err());
    }

    /// A connection with the token stays as long as another one can be displaced, even at an
    /// address with many.
    #[test]
    fn a_trusted_connection_is_displaced_last() {
        let connections = Connections::default();
        let now = Instant::now();
        let trusted = joined(&connections, 3, MAX_CONNECTIONS - 1);
        trusted.iter().for_each(|connection| connection.trust(true));
        let _silent = joined(&connections, 1, 1);
        assert_eq!(connections.try_make_room(now), displaced(1));
        let _silent_again = joined(&connections, 1, 1);
        assert_eq!(connections.try_make_room(now), displaced(1));
        let _last = joined(&connections, 3, 1).first().map(|last| last.trust(true));
        assert_eq!(connections.try_make_room(now), Room::Free);
    }

    /// A request in progress protects its connection, unless the request is slow and has no token.
    #[test]
    fn requests_in_progress_are_displaced_when_slow_and_without_token() {
        let connections = Connections::default();
        let all = joined(&connections, 3, MAX_CONNECTIONS);
        let requests: Vec<_> = all.iter().map(Connection::request).collect();
        all.iter().skip(1).for_each(|connection| connection.trust(true));
        let now = Instant::now();
        assert_eq!(connections.try_make_room(now), Room::None);
        assert_eq!(connections.try_make_room(now + SLOW_REQUEST), displaced(3));
        let joined = connections.join(Some(address(4)));
        let request = joined.request();
        joined.trust(true);
        assert_eq!(connections.try_make_room(now + SLOW_REQUEST), Room::None);
        drop((requests, request));
        assert!(matches!(connections.try_make_room(now), Room::Displaced(_)));
    }

    /// The end of the request that opened a live stream left the stream without protection.
    #[test]
    fn a_connection_is_idle_when_its_last_request_ends() {
        let connections = Connections::default();
        let all = joined(&connections, 3, MAX_CONNECTIONS);
        all.iter().for_each(|connection| connection.trust(true));
        let _others: Vec<_> = all.iter().skip(1).map(Connection::request).collect();
        let (request, stream) = (all[0].request(), all[0].request());
        let now = Instant::now();
        drop(request);
        assert_eq!(connections.try_make_room(now), Room::None);
        drop(stream);
        assert_eq!(connections.try_make_room(now), displaced(3));
    }

    /// One address with hundreds of slow requests on few connections uses up nothing of others.
    #[tokio::test]
    async fn too_many_requests_close_the_connection_with_the_most_of_the_address_with_the_most() {
        let connections = Connections::default();
        let administrator = connections.join(Some(address(1)));
        administrator.trust(true);
        let many: Vec<_> = (0..TRUSTED_REQUESTS).map(|_| administrator.request()).collect();
        let slow = joined(&connections, 2, 2);
        let neighbour = connections.join(Some(address(3)));
        let _own: Vec<_> = (0..100).map(|_| neighbour.request()).collect();
        let _few: Vec<_> = (0..100).map(|_| slow[0].request()).collect();
        let some: Vec<_> = (0..MAX_REQUESTS - TRUSTED_REQUESTS - 200).map(|_| slow[1].request()).collect();
        let kept =
            async |connection: &Connection| tokio::time::timeout(Duration::ZERO, connection.displaced()).await.is_err();
        assert!(kept(&slow[1]).await && kept(&slow[0]).await);
        let one_more = neighbour.request();
        assert!(!kept(&slow[1]).await && kept(&slow[0]).await && kept(&neighbour).await && kept(&administrator).await);
        // What leaves is not counted, and nothing more is closed.
        let _more: Vec<_> = (0..some.len() - 1).map(|_| administrator.request()).collect();
        assert!(kept(&slow[0]).await && kept(&neighbour).await && kept(&administrator).await);
        drop((many, one_more));
    }

    /// Regression: a token with 1 024 live streams on 16 connections was spared, and each newcomer was closed, the
    /// administrator among them.
    #[tokio::test]
    async fn a_token_with_all_requests_keeps_nobody_out() {
        let connections = Connections::default();
        let greedy = joined(&connections, 2, 16);
        greedy.iter().for_each(|connection| connection.trust(true));
        let _streams: Vec<_> =
            greedy.iter().flat_map(|connection| (0..MAX_REQUESTS / 16).map(|_| connection.request())).collect();
        let newcomer = connections.join(Some(address(1)));
        let _request = newcomer.request();
        let is_kept =
            async |connection: &Connection| tokio::time::timeout(Duration::ZERO, connection.displaced()).await.is_err();
        assert!(is_kept(&newcomer).await);
        let mut closed = 0;
        for connection in &greedy {
            closed += usize::from(!is_kept(connection).await);
        }
        assert_eq!(closed, 1);
    }

    #[tokio::test]
    async fn a_connection_is_idle_only_without_requests() {
        let connection = Connections::default().join(Some(address(1)));
        let idle = async |time| tokio::time::timeout(Duration::from_millis(300), connection.idle(time)).await.is_ok();
        let request = connection.request();
        assert!(!idle(Duration::from_millis(10)).await);
        drop(request);
        assert!(!idle(Duration::from_secs(3600)).await);
        assert!(idle(Duration::from_millis(10)).await);
    }

    #[test]
    fn connections_that_end_are_forgotten() {
        let connections = Connections::default();
        let all = joined(&connections, 1, MAX_CONNECTIONS);
        let request = all[0].request();
        drop((all, request));
        assert!(connections.shared.state().members.is_empty());
    }
}
