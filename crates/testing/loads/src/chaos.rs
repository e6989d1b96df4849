//! A hostile initiator driven by a seed: [`script`](mod@script) number N of a seed always sends the
//! same bytes to a portal, apart from the target's name.
//!
//! Most scripts are valid conversations with errors: cut at every byte, with PDUs doubled, missing,
//! out of order or changed, with wrong numbers, tags, lengths and digests, with unsolicited data or
//! data that never comes. The rest exhaust a target's resources: idle connections, answers that are
//! not read, tasks, immediate commands, sessions that replace each other.
//!
//! The only requirement on the target is that it keeps working. To check this, [`witness`] is a
//! well-behaved initiator on a volume that the scripts may not see. It requires correct data in
//! time, and the scripts search everything they receive for the data that it writes.

pub mod flood;
mod pdus;
mod play;
mod scenarios;
pub mod script;
pub mod witness;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use conformance::url::Url;
use script::Facts;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct ChaosOptions {
    /// URLs of a logical unit that scripts may write to, one for each portal.
    pub urls: Vec<Url>,
    /// Seed that determines every script.
    pub seed: u64,
    /// Number of the first script.
    pub first: u64,
    /// Largest number of scripts.
    pub count: u64,
    /// Time after which no further script begins.
    pub time: Duration,
    /// Number of scripts that run concurrently.
    pub at_once: usize,
    /// Secret bytes that no script may receive.
    pub secret: Vec<u8>,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct ChaosReport {
    /// Number of scripts, by kind.
    pub scripts: BTreeMap<&'static str, u64>,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Number of connections that the portal refused, or closed before anything was sent.
    pub refused: u64,
    /// Numbers of the scripts that received the secret.
    pub leaks: Vec<u64>,
    /// Number that follows the last script.
    pub next: u64,
}

impl ChaosReport {
    fn add(&mut self, other: Self) {
        for (kind, count) in other.scripts {
            *self.scripts.entry(kind).or_default() += count;
        }
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.refused += other.refused;
        self.leaks.extend(other.leaks);
        self.next = self.next.max(other.next);
    }

    /// Number of scripts run.
    pub fn total(&self) -> u64 {
        self.scripts.values().sum()
    }
}

impl fmt::Display for ChaosReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<String> = self.scripts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        write!(
            f,
            "{} connections ({}) · {} bytes sent, {} received · {} refused",
            self.total(),
            kinds.join(", "),
            self.sent_bytes,
            self.received_bytes,
            self.refused
        )
    }
}

/// Runs scripts from `first` on, several concurrently, until the time or the count is reached or
/// `stop` is set.
pub fn run(options: &ChaosOptions, stop: &AtomicBool) -> ChaosReport {
    let facts: Vec<(SocketAddr, Facts)> = options.urls.iter().filter_map(facts).collect();
    let next = AtomicU64::new(options.first);
    let deadline = Instant::now() + options.time;
    let end = options.first.saturating_add(options.count);
    let worker = || {
        let mut report = ChaosReport::default();
        while !stop.load(Ordering::Relaxed) && Instant::now() < deadline {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let at = usize::try_from(number).unwrap_or(0).checked_rem(facts.len());
            let Some((portal, facts)) = at.and_then(|at| facts.get(at)) else { break };
            if number >= end {
                break;
            }
            let script = script::script(options.seed, number, facts);
            *report.scripts.entry(script.kind).or_default() += 1;
            report.next = number + 1;
            let result = play::play(*portal, &script, &options.secret);
            report.sent_bytes += result.sent_bytes;
            report.received_bytes += result.received_bytes;
            report.refused += u64::from(result.refused);
            if result.secret {
                report.leaks.push(number);
            }
        }
        report
    };
    let mut report = ChaosReport::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.at_once.max(1)).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            // A worker does not panic; if it does, the panic is passed on.
            match worker.join() {
                Ok(part) => report.add(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    report
}

fn facts(url: &Url) -> Option<(SocketAddr, Facts)> {
    use std::net::ToSocketAddrs;
    let portal = (url.host.as_str(), url.port).to_socket_addrs().ok()?.next()?;
    Some((portal, Facts { target: url.target.clone(), lun: url.lun_bytes() }))
}

#[cfg(test)]
mod tests;
