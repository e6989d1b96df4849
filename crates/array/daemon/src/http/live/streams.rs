//! Open streams of a listener: their limits, their topics, and their end.

use super::holder::Owner;
use super::topics::Topics;
use crate::http::problem::Fault;
use crate::network::network;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use uuid::Uuid;

/// Largest number of streams of a listener.
const MAX_STREAMS: usize = 64;
/// Largest number of streams of an IPv4 address or IPv6 /64, behind which there may be several people.
const MAX_PER_NETWORK: usize = 32;
/// Largest number of streams of a sign-in, which are the tabs of a browser.
const MAX_PER_SIGN_IN: usize = 8;

/// Open streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    state: Mutex<State>,
    stopping: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    last_number: u64,
    open: BTreeMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    /// `None` on a Unix socket.
    network: Option<IpAddr>,
    owner: Option<Owner>,
    /// `None` for tokens and local processes.
    sign_in: Option<Uuid>,
    topics: watch::Sender<Topics>,
}

impl Streams {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a stream until the result is dropped. Errors: `TooManyStreams`.
    pub(super) fn open(
        self: &Arc<Self>,
        address: Option<IpAddr>,
        (owner, sign_in): (Option<Owner>, Option<Uuid>),
        topics: Topics,
    ) -> Result<Stream, Fault> {
        let network = address.map(network);
        let mut state = self.state();
        let near = state.open.values().filter(|open| network.is_some() && open.network == network).count();
        let own = state.open.values().filter(|open| sign_in.is_some() && open.sign_in == sign_in).count();
        if state.open.len() >= MAX_STREAMS || near >= MAX_PER_NETWORK || own >= MAX_PER_SIGN_IN {
            return Err(Fault::TooManyStreams);
        }
        state.last_number += 1;
        let number = state.last_number;
        let (sender, topics) = watch::channel(topics);
        state.open.insert(number, Open { network, owner, sign_in, topics: sender });
        Ok(Stream { number, topics, stopping: self.stopping.subscribe(), streams: Arc::clone(self) })
    }

    /// Changes the topics of a stream. False if its owner has none with this number.
    pub(super) fn set_topics(&self, number: u64, owner: Option<Owner>, topics: Topics) -> bool {
        let state = self.state();
        let open = state.open.get(&number).filter(|open| open.owner == owner);
        open.is_some_and(|open| open.topics.send(topics).is_ok())
    }

    /// Ends all streams, and those that are opened later.
    pub(in crate::http) fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

/// An open stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// Number, unique in the listener.
    pub(super) number: u64,
    /// Present topics.
    pub(super) topics: watch::Receiver<Topics>,
    /// True when the array stops.
    pub(super) stopping: watch::Receiver<bool>,
    streams: Arc<Streams>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.streams.state().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use crate::people::CallerKind;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn streams_are_limited_in_all_and_of_an_address() {
        let streams = Arc::<Streams>::default();
        let open = |from: u8| streams.open(address(from), (None, None), Topics::default());
        let mut all: Vec<Stream> = (0..MAX_PER_NETWORK).map(|_| open(1).unwrap()).collect();
        assert!(matches!(open(1), Err(Fault::TooManyStreams)));
        all.extend((0..MAX_STREAMS - MAX_PER_NETWORK).map(|_| open(2).unwrap()));
        assert!(matches!(open(3), Err(Fault::TooManyStreams)));
        let first = all.swap_remove(0);
        assert!(streams.set_topics(first.number, None, Topics::parse("array").unwrap()) && first.topics.borrow().array);
        let number = first.number;
        drop(first);
        assert!(!streams.set_topics(number, None, Topics::default()));
        let next = open(3).unwrap();
        assert!(next.number > number && !*next.stopping.borrow());
        streams.stop();
        assert!(*next.stopping.borrow());
    }

    /// Three people behind one address: the tabs of the first two left no stream for the third.
    #[test]
    fn a_sign_in_does_not_take_the_streams_of_others_at_its_address() {
        let streams = Arc::<Streams>::default();
        let open = |sign_in: u128| streams.open(address(1), (None, Some(Uuid::from_u128(sign_in))), Topics::default());
        let mut all = Vec::new();
        for sign_in in 0..3 {
            all.extend((0..MAX_PER_SIGN_IN).map(|_| open(sign_in).unwrap()));
            assert!(matches!(open(sign_in), Err(Fault::TooManyStreams)));
        }
        all.remove(0);
        assert!(open(0).is_ok() && matches!(open(1), Err(Fault::TooManyStreams)));
    }

    /// Numbers are small: a viewer could end the topics of others.
    #[test]
    fn topics_are_changed_by_the_owner() {
        let streams = Arc::<Streams>::default();
        let owner = |uid| Some((CallerKind::Local, None, Some(uid)));
        let stream = streams.open(None, (owner(1), None), Topics::parse("jobs").unwrap()).unwrap();
        assert!(!streams.set_topics(stream.number, owner(2), Topics::default()) && stream.topics.borrow().jobs);
        assert!(!streams.set_topics(stream.number, None, Topics::default()) && stream.topics.borrow().jobs);
        assert!(streams.set_topics(stream.number, owner(1), Topics::default()) && !stream.topics.borrow().jobs);
    }
}
