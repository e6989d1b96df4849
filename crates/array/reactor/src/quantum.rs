//! Turns of connections. Commands of one turn share its reads, its writes and the pump of the pool: a connection that
//! is alone on its thread works for long. Beside others it works for a short time, whatever protocol they use, so
//! that a host with one command outstanding waits for a few short turns and not for all commands of the others.
//!
//! Rounds are fair by host, and not by connection: beside other hosts, the connections of a host that have turns in the
//! same round divide the length of one turn among them. The length grows with the weight of the host.

use super::clock;
use qos::{DEFAULT_WEIGHT, HostId};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Context;
use std::time::{Duration, Instant};

/// Time and number of commands of a turn.
#[derive(Clone, Copy, Debug)]
struct Length {
    time: Duration,
    commands: u32,
}

const BESIDE_OTHERS: Length = Length { time: Duration::from_micros(25), commands: 16 };
const ALONE: Length = Length { time: Duration::from_micros(250), commands: 256 };

thread_local! {
    /// Number of turns of connections on this thread so far.
    static TURNS: Cell<u64> = const { Cell::new(0) };
    /// Hosts that have connections on this thread.
    static HOSTS: RefCell<FxHashMap<HostId, Rc<Rounds>>> = RefCell::default();
}

/// Share of a host in the time of threads. Its connections on all threads have it.
#[derive(Debug)]
pub(crate) struct HostShare {
    host: HostId,
    weight: AtomicU32,
}

impl HostShare {
    /// Share of a host with this weight; 100 is usual.
    pub fn new(host: HostId, weight: u32) -> Self {
        Self { host, weight: AtomicU32::new(weight) }
    }

    /// The host.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Changes the weight, for turns that begin from now on.
    pub fn set_weight(&self, weight: u32) {
        self.weight.store(weight, Ordering::Relaxed);
    }
}

/// Turns of the connections of a host on this thread.
#[derive(Debug, Default)]
struct Rounds {
    /// Number of turns so far.
    turns: Cell<u64>,
    connections: Cell<u32>,
}

/// Place of a connection among those of its host.
#[derive(Debug)]
struct Seat {
    share: Arc<HostShare>,
    rounds: Rc<Rounds>,
    /// Turns of the host when the connection had its last one.
    turns: u64,
}

impl Seat {
    fn new(share: Arc<HostShare>) -> Self {
        let rounds = HOSTS.with_borrow_mut(|hosts| Rc::clone(hosts.entry(share.host).or_default()));
        rounds.connections.set(rounds.connections.get() + 1);
        let turns = rounds.turns.get();
        Self { share, rounds, turns }
    }

    /// Counts a turn. Returns the number of turns of the host since the last turn of the connection, with this one.
    fn turn(&mut self) -> u64 {
        let turns = self.rounds.turns.get().wrapping_add(1);
        self.rounds.turns.set(turns);
        turns.wrapping_sub(std::mem::replace(&mut self.turns, turns))
    }

    /// Length of a turn beside other hosts. `turns`: of the host in this round.
    fn length(&self, turns: u64) -> Length {
        let connections = u64::from(self.rounds.connections.get());
        // After a rest, its host has had turns in many rounds.
        let divisor = u32::try_from(turns.min(connections)).unwrap_or(u32::MAX).max(1);
        let (weight, usual) = (self.share.weight.load(Ordering::Relaxed), divisor.saturating_mul(DEFAULT_WEIGHT));
        Length {
            time: BESIDE_OTHERS.time.saturating_mul(weight) / usual,
            commands: (BESIDE_OTHERS.commands.saturating_mul(weight) / usual).max(1),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let connections = self.rounds.connections.get().saturating_sub(1);
        self.rounds.connections.set(connections);
        if connections == 0 {
            // A thread that ends has no table any more.
            let _ended = HOSTS.try_with(|hosts| hosts.borrow_mut().remove(&self.share.host));
        }
    }
}

/// Turn of a connection: what its task does in one poll.
#[derive(Debug)]
pub(crate) struct Quantum {
    number: u64,
    ends: Instant,
    /// Commands that may still begin.
    left: u32,
    /// True if no command has begun.
    fresh: bool,
    /// Absent while the host is not known.
    seat: Option<Seat>,
}

impl Quantum {
    /// A turn that is over, of a connection of this host.
    pub fn new(share: Option<Arc<HostShare>>) -> Self {
        let seat = share.map(Seat::new);
        Self { number: TURNS.get(), ends: clock::now(), left: 0, fresh: false, seat }
    }

    /// Sets the host of the connection.
    pub fn set_host(&mut self, share: Option<Arc<HostShare>>) {
        self.seat = share.map(Seat::new);
    }

    /// Begins the next turn.
    pub fn begin(&mut self) {
        let number = TURNS.get().wrapping_add(1);
        TURNS.set(number);
        let turns = number.wrapping_sub(self.number);
        let of_host = self.seat.as_mut().map_or(0, Seat::turn);
        let length = match &self.seat {
            _ if turns == 1 => ALONE,
            Some(seat) if of_host < turns => seat.length(of_host),
            _ => BESIDE_OTHERS,
        };
        (self.number, self.left, self.fresh) = (number, length.commands, true);
        self.ends = clock::now() + length.time;
    }

    /// True if one more command may begin. The first one always may.
    pub fn takes_command(&mut self) -> bool {
        let takes = std::mem::take(&mut self.fresh) || !self.is_over();
        self.left = self.left.saturating_sub(1);
        takes
    }

    /// True if the turn has been long enough.
    pub fn is_over(&self) -> bool {
        self.left == 0 || clock::now() >= self.ends
    }
}

/// Polls the task again after the others that are ready, and after those for which something has arrived meanwhile.
pub(crate) fn let_others_run(context: &mut Context<'_>) {
    let _pending = pin!(tokio::task::yield_now()).poll(context);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(turn: &mut Quantum) -> u32 {
        turn.begin();
        let mut commands = 0;
        while turn.takes_command() {
            commands += 1;
        }
        commands
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_long_only_if_nobody_else_had_one_meanwhile() {
        let (mut one, mut other) = (Quantum::new(None), Quantum::new(None));
        assert_eq!(commands(&mut one), ALONE.commands);
        assert_eq!(commands(&mut other), BESIDE_OTHERS.commands);
        assert_eq!(commands(&mut one), BESIDE_OTHERS.commands);
        assert_eq!(commands(&mut one), ALONE.commands);
    }

    /// Connections of hosts, by host and weight.
    fn connections(hosts: &[(u64, u32)]) -> Vec<Quantum> {
        let mut shares: FxHashMap<u64, Arc<HostShare>> = FxHashMap::default();
        let mut share = |(host, weight): (u64, u32)| {
            Arc::clone(shares.entry(host).or_insert_with(|| Arc::new(HostShare::new(HostId(host), weight))))
        };
        hosts.iter().map(|host| Quantum::new(Some(share(*host)))).collect()
    }

    /// Commands of each connection in the last of some rounds.
    fn round(connections: &mut [Quantum]) -> Vec<u32> {
        for _ in 0..3 {
            connections.iter_mut().for_each(|connection| assert!(commands(connection) > 0));
        }
        connections.iter_mut().map(commands).collect()
    }

    /// A host with eight sessions had eight times the turns of a host with one.
    #[tokio::test(start_paused = true)]
    async fn sessions_of_a_host_divide_its_turns() {
        let mut all = connections(&[(1, 100), (2, 100), (1, 100), (1, 100), (1, 100)]);
        assert_eq!(round(&mut all), [4, 16, 4, 4, 4]);
        // One that rests leaves its part to the others of its host.
        all.truncate(3);
        assert_eq!(round(&mut all), [8, 16, 8]);
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_of_the_only_host_have_whole_turns() {
        assert_eq!(round(&mut connections(&[(1, 100), (1, 100), (1, 100)])), [16, 16, 16]);
        assert_eq!(round(&mut connections(&[(1, 1000)])), [ALONE.commands]);
    }

    #[tokio::test(start_paused = true)]
    async fn turns_grow_with_the_weight_of_the_host() {
        let mut all = connections(&[(1, 100), (2, 300), (3, 10), (2, 300)]);
        assert_eq!(round(&mut all), [16, 24, 1, 24]);
        let share = Arc::clone(&all[2].seat.as_ref().expect("it has a host").share);
        share.set_weight(200);
        assert_eq!(round(&mut all), [16, 24, 32, 24]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_rested_has_a_whole_part_of_a_turn() {
        let mut all = connections(&[(1, 100), (1, 100), (2, 100)]);
        for _ in 0..100 {
            assert!(commands(&mut all[0]) > 0 && commands(&mut all[2]) > 0);
        }
        assert_eq!(commands(&mut all[1]), 8);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_ends_with_its_time_but_takes_one_command() {
        let mut turn = Quantum::new(None);
        turn.begin();
        tokio::time::advance(ALONE.time).await;
        assert!(turn.is_over());
        assert!(turn.takes_command());
        assert!(!turn.takes_command());
    }

    #[tokio::test(start_paused = true)]
    async fn what_arrives_meanwhile_comes_before_the_rest() {
        let order = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let local = tokio::task::LocalSet::new();
        let busy = std::rc::Rc::clone(&order);
        local.spawn_local(async move {
            for turn in 0..2 {
                let mut yielded = false;
                std::future::poll_fn(|context| {
                    if std::mem::replace(&mut yielded, true) {
                        return std::task::Poll::Ready(());
                    }
                    let_others_run(context);
                    std::task::Poll::Pending
                })
                .await;
                busy.borrow_mut().push(format!("busy {turn}"));
            }
        });
        let other = std::rc::Rc::clone(&order);
        local.spawn_local(async move { other.borrow_mut().push("other".to_owned()) });
        local.await;
        assert_eq!(*order.borrow(), ["other", "busy 0", "busy 1"]);
    }
}
