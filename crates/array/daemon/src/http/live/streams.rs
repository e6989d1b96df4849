//! Open streams of a listener: their limits, their topics, and their end.

use super::holder::Owner;
use super::topics::Topics;
use crate::http::problem::Fault;
use crate::network::network;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Largest number of streams of a listener.
const MAX_STREAMS: usize = 32;
/// Largest number of streams of an IPv4 address or IPv6 /64.
const MAX_PER_NETWORK: usize = 16;

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
        owner: Option<Owner>,
        topics: Topics,
    ) -> Result<Stream, Fault> {
        let network = address.map(network);
        let mut state = self.state();
        let own = state.open.values().filter(|open| network.is_some() && open.network == network).count();
        if state.open.len() >= MAX_STREAMS || own >= MAX_PER_NETWORK {
            return Err(Fault::TooManyStreams);
        }
        state.last_number += 1;
        let number = state.last_number;
        let (sender, topics) = watch::channel(topics);
        state.open.insert(number, Open { network, owner, topics: sender });
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
        let open = |from: u8| streams.open(address(from), None, Topics::default());
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

    /// Numbers are small: a viewer could end the topics of others.
    #[test]
    fn topics_are_changed_by_the_owner() {
        let streams = Arc::<Streams>::default();
        let owner = |uid| Some((CallerKind::Local, None, Some(uid)));
        let stream = streams.open(None, owner(1), Topics::parse("jobs").unwrap()).unwrap();
        assert!(!streams.set_topics(stream.number, owner(2), Topics::default()) && stream.topics.borrow().jobs);
        assert!(!streams.set_topics(stream.number, None, Topics::default()) && stream.topics.borrow().jobs);
        assert!(streams.set_topics(stream.number, owner(1), Topics::default()) && !stream.topics.borrow().jobs);
    }
}
