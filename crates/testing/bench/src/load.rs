//! Closed loop: a fixed number of outstanding commands, each replaced when it completes; every
//! latency is recorded.

use crate::command::Command;
use crate::latencies::Latencies;
use crate::session::{Completion, Session};
use anyhow::{Context, Result, ensure};
use array_process::observe;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// End condition of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// After this time.
    After(Duration),
    /// When no commands are left.
    WhenDone,
}

/// Measurements of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    /// Commands completed.
    pub(crate) operations: u64,
    /// Time from the first submission to the last completion.
    pub(crate) elapsed: Duration,
    /// Latencies of the commands.
    pub(crate) latencies: Latencies,
    /// Processor time of the server's process.
    pub(crate) server_cpu: Duration,
    /// Bytes of TCP payload sent.
    pub(crate) sent_bytes: u64,
    /// Bytes of TCP payload received.
    pub(crate) received_bytes: u64,
}

impl Load {
    /// Commands per second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Latency in µs that `percent` of the commands did not exceed.
    pub(crate) fn latency_us(&self, percent: f64) -> f64 {
        self.latencies.percentile_us(percent)
    }

    /// Processor time of the server per command, in µs.
    pub(crate) fn server_us(&self) -> f64 {
        self.server_cpu.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }

    /// Bytes of TCP payload per command, both ways.
    pub(crate) fn wire_bytes_each(&self) -> f64 {
        (self.sent_bytes + self.received_bytes) as f64 / self.operations.max(1) as f64
    }
}

/// Runs the commands of `next` with `depth` outstanding; `check` gets every completion with the
/// number of its command, from 0.
pub(crate) fn run(
    session: &mut Session,
    server_pid: u32,
    depth: usize,
    end: End,
    mut next: impl FnMut(u64) -> Option<Command>,
    mut check: impl FnMut(u64, &Completion) -> Result<()>,
) -> Result<Load> {
    ensure!(session.outstanding() == 0, "other commands are outstanding");
    // Another volume may have been granted since the session began; the load must not get its unit
    // attention.
    session.clear_unit_attentions()?;
    let cpu_before = observe::processor_time(server_pid)?.total();
    let (sent_before, received_before) = session.wire_bytes();
    let started = Instant::now();
    let mut in_flight: HashMap<u32, (u64, Instant)> = HashMap::with_capacity(depth);
    let mut latencies = Latencies::default();
    let mut number = 0;
    let mut more = true;
    loop {
        if let End::After(limit) = end {
            more &= started.elapsed() < limit;
        }
        while more && session.outstanding() < depth && session.window() > 0 {
            match next(number) {
                Some(command) => {
                    in_flight.insert(session.submit(&command)?, (number, Instant::now()));
                    number += 1;
                }
                None => more = false,
            }
        }
        if session.outstanding() == 0 {
            ensure!(!more, "the target takes no commands");
            break;
        }
        session.flush()?;
        session.complete(|completion| {
            let (number, submitted) = in_flight.remove(&completion.tag).context("a completion of no command")?;
            latencies.record(submitted.elapsed());
            completion.good().with_context(|| format!("command {number}"))?;
            check(number, &completion)
        })?;
    }
    let elapsed = started.elapsed();
    let server_cpu = observe::processor_time(server_pid)?.total().saturating_sub(cpu_before);
    let (sent, received) = session.wire_bytes();
    Ok(Load {
        operations: number,
        elapsed,
        latencies,
        server_cpu,
        sent_bytes: sent - sent_before,
        received_bytes: received - received_before,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_from_all_latencies() {
        let mut latencies = Latencies::default();
        (1..=100).rev().for_each(|us| latencies.record(Duration::from_micros(us)));
        let load = Load {
            operations: 100,
            elapsed: Duration::from_secs(2),
            latencies,
            server_cpu: Duration::from_millis(1),
            ..Load::default()
        };
        // To three digits.
        let near = |is: f64, wanted: f64| (is - wanted).abs() <= wanted / 500.0;
        assert!(near(load.latency_us(50.0), 50.0) && near(load.latency_us(99.0), 99.0));
        assert!(near(load.latencies.longest_us(), 100.0));
        assert_eq!(load.rate(), 50.0);
        assert_eq!(load.server_us(), 10.0);
        assert_eq!(Load::default().latency_us(99.0), 0.0);
    }
}
