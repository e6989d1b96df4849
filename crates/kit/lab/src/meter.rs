//! Cost of work: time, commands, bytes on the wire each way, processor time of the hosts,
//! reservation conflicts, and who moved the data.

use crate::bench::Bench;
use crate::host::Host;
use crate::machine;
use crate::outcome::Round;
use crate::results::{Better, Unit};
use data_mover::{Moved, Reason, Tally};
use initiator::Counters;
use std::time::Duration;

/// Reads the counters of hosts when work begins and when it ends.
pub(crate) struct Meter<'a> {
    bench: &'a Bench,
    hosts: Vec<&'a Host>,
    started: Duration,
    processor: Duration,
    counters: Counters,
    tallies: Vec<Tally>,
}

/// Cost of work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) processor_seconds: f64,
    pub(crate) counters: Counters,
    pub(crate) conflicts: u64,
    pub(crate) updates: u64,
    pub(crate) moved: Moved,
}

fn sum(hosts: &[&Host]) -> Counters {
    hosts.iter().map(|host| host.counters()).fold(Counters::default(), |sum, next| Counters {
        commands: sum.commands + next.commands,
        sent_bytes: sum.sent_bytes + next.sent_bytes,
        received_bytes: sum.received_bytes + next.received_bytes,
    })
}

/// Bytes moved since `before`.
fn later(now: &Moved, before: &Moved) -> Moved {
    let mut moved = Moved { offloaded_bytes: now.offloaded_bytes - before.offloaded_bytes, ..Moved::default() };
    for (reason, bytes) in &now.by_host {
        let bytes = bytes - before.by_host.get(reason).copied().unwrap_or(0);
        if bytes > 0 {
            moved.by_host.insert(*reason, bytes);
        }
    }
    moved
}

impl<'a> Meter<'a> {
    pub(crate) fn start(bench: &'a Bench, hosts: &[&'a Host]) -> Self {
        Self {
            bench,
            started: bench.clock.now(),
            processor: machine::processor_time(),
            counters: sum(hosts),
            tallies: hosts.iter().map(|host| host.tally()).collect(),
            hosts: hosts.to_vec(),
        }
    }

    pub(crate) fn stop(self) -> Cost {
        let seconds = self.bench.clock.now().saturating_sub(self.started).as_secs_f64();
        let counters = sum(&self.hosts);
        let mut cost = Cost {
            seconds,
            processor_seconds: machine::processor_time().saturating_sub(self.processor).as_secs_f64(),
            counters: Counters {
                commands: counters.commands - self.counters.commands,
                sent_bytes: counters.sent_bytes - self.counters.sent_bytes,
                received_bytes: counters.received_bytes - self.counters.received_bytes,
            },
            ..Cost::default()
        };
        for (host, before) in self.hosts.iter().zip(&self.tallies) {
            let now = host.tally();
            cost.conflicts += now.reservation_conflicts - before.reservation_conflicts;
            cost.updates += now.atomic_updates + now.reserved_updates - before.atomic_updates - before.reserved_updates;
            cost.moved.add(&later(&now.copied, &before.copied));
            cost.moved.add(&later(&now.zeroed, &before.zeroed));
        }
        cost
    }
}

impl Cost {
    /// Adds the cost of work that ends by itself.
    pub(crate) fn put(&self, round: &mut Round) {
        round.put("seconds", Unit::Seconds, Better::Lower, self.seconds);
        round.put("host_cpu_seconds", Unit::Seconds, Better::Lower, self.processor_seconds);
        self.put_traffic(round);
        round.moved(&self.moved);
    }

    /// Adds commands, bytes on the wire, and conflicts, without the time.
    pub(crate) fn put_traffic(&self, round: &mut Round) {
        let Counters { commands, sent_bytes, received_bytes } = self.counters;
        round.put_count("commands", Unit::Count, Better::Lower, commands);
        round.put_count("wire_bytes", Unit::Bytes, Better::Lower, sent_bytes + received_bytes);
        round.put_count("wire_sent_bytes", Unit::Bytes, Better::Lower, sent_bytes);
        round.put_count("wire_received_bytes", Unit::Bytes, Better::Lower, received_bytes);
        round.put_count("reservation_conflicts", Unit::Count, Better::Lower, self.conflicts);
    }

    /// Adds rates per second, for work that runs for a given time.
    pub(crate) fn put_rates(&self, round: &mut Round) {
        let seconds = self.seconds.max(f64::MIN_POSITIVE);
        let Counters { commands, sent_bytes, received_bytes } = self.counters;
        round.put("commands_per_second", Unit::PerSecond, Better::Neither, commands as f64 / seconds);
        let wire = (sent_bytes + received_bytes) as f64 / seconds;
        round.put("wire_bytes_per_second", Unit::BytesPerSecond, Better::Neither, wire);
        round.put("conflicts_per_second", Unit::PerSecond, Better::Lower, self.conflicts as f64 / seconds);
        round.put("lock_updates_per_second", Unit::PerSecond, Better::Higher, self.updates as f64 / seconds);
        round.put("host_cpu_share", Unit::Ratio, Better::Lower, self.processor_seconds / seconds);
        round.moved(&self.moved);
    }

    /// Describes bytes that the host moved although the primitive was on, for reasons other than
    /// its switch.
    pub(crate) fn not_offloaded(&self) -> Option<String> {
        let other = |(reason, _): &(&Reason, &u64)| **reason != Reason::SwitchedOff;
        let reasons: Vec<String> = self
            .moved
            .by_host
            .iter()
            .filter(other)
            .map(|(reason, bytes)| format!("{}: {reason}", text::size::format(*bytes)))
            .collect();
        (!reasons.is_empty()).then(|| format!("the host moved {}", reasons.join(", ")))
    }
}
