//! How does offload at the rate of the white paper's array affect a host? One thread acts as both
//! hosts, so that the array has its own processor where there are two. It writes random 4 KiB
//! blocks, one or four outstanding, and sends EXTENDED COPY of 4 MiB or WRITE SAME of zeros of 1
//! MiB to other volumes on schedule, 600 MiB of them per second (the paper zeroed 40 GiB in 69 s);
//! pool in memory. p99 of the writes during the offload, divided by p99 without, medians of rounds
//! in turn: lower is better. It needs a quiet machine: a scheduler that runs other processes for
//! some milliseconds determines every p99. Small: 64 MiB, 2 rounds of 0.3 s. Large: 1 GiB, as
//! requested.
//!
//! `fairness` measures the same with an offload that is sent as fast as the array accepts it, from
//! a thread of its own.

use super::small_io::{Subject, random_io_beside};
use super::{GIB, MIB, SEGMENT_BYTES, filled_volume};
use crate::Options;
use crate::command::{self, Command};
use crate::data::BLOCK_BYTES;
use crate::load::{End, Load};
use crate::report::{Report, Spread};
use crate::session::Session;
use crate::targets::{Windlass, memory_directory};
use anyhow::{Context, Result};
use bytes::Bytes;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const ASKS: &str = "latency of 4 KiB writes beside offload at a set rate, from one thread";

/// Bytes of offload per second.
const RATE_BYTES: u64 = 600 * MIB;

/// Command of the offload.
#[derive(Clone, Copy)]
enum Offload {
    Copy,
    Zero,
}

impl Offload {
    const fn name(self) -> &'static str {
        match self {
            Self::Copy => "extended copy 4 MiB",
            Self::Zero => "write same 1 MiB",
        }
    }

    const fn bytes(self) -> u64 {
        match self {
            Self::Copy => SEGMENT_BYTES,
            Self::Zero => MIB,
        }
    }
}

/// Commands sent on schedule, one outstanding. Delays of more than an interval, because the
/// previous command was not done or this thread did not run, are not made up for.
struct Paced<'a> {
    session: &'a mut Session,
    command: Box<dyn Fn(u64) -> Command + 'a>,
    interval: Duration,
    due: Instant,
    sent: u64,
    missed: u64,
}

impl Paced<'_> {
    /// Sends the next command when it is due.
    fn tend(&mut self) -> Result<()> {
        let now = Instant::now();
        if now < self.due {
            return Ok(());
        }
        self.finish()?;
        self.session.submit(&(self.command)(self.sent))?;
        self.session.flush()?;
        self.sent += 1;
        self.due += self.interval;
        while self.due < now {
            self.due += self.interval;
            self.missed += 1;
        }
        Ok(())
    }

    /// Waits for the last command that was sent.
    fn finish(&mut self) -> Result<()> {
        while self.session.outstanding() > 0 {
            self.session.complete(|completion| completion.good())?;
        }
        Ok(())
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let size_bytes = if options.small { 64 * MIB } else { GIB };
    let array = Windlass::start(windlass, &memory_directory()?, "4G")?;
    let pid = array.array.pid();
    let (_, session) = filled_volume(&array, "host", size_bytes)?;
    let (_, mut source) = filled_volume(&array, "template", size_bytes)?;
    let destination = array.array.create_volume("copy", &size_bytes.to_string())?;
    let mut subject = Subject { name: "windlass", pid, session };
    let mut other = Session::connect(destination.url())?;
    let designators = (source.designator()?, other.designator()?);
    let zeros: Bytes = vec![0; 512].into();
    let p99 = |loads: &[Load]| Spread::of(loads.iter().map(|load| load.latency_us(99.0)).collect());

    for offload in [Offload::Copy, Offload::Zero] {
        for depth in [1, 4] {
            let (mut idle, mut busy) = (Vec::new(), Vec::new());
            let (mut sent, mut missed, mut kept) = (0, 0, Vec::new());
            for round in 0..options.repetitions().max(2) as u64 {
                let blocks = size_bytes / BLOCK_BYTES;
                let end = End::After(options.time());
                idle.push(random_io_beside(&mut subject, blocks, true, depth, end, round, || Ok(()))?);
                other.clear_unit_attentions()?;
                let command = |index: u64| {
                    let lba = index * offload.bytes() % size_bytes / 512;
                    match offload {
                        Offload::Copy => {
                            let blocks = (SEGMENT_BYTES / 512) as u16;
                            command::extended_copy(&designators.0, &designators.1, lba, lba, blocks)
                        }
                        Offload::Zero => command::write_same(lba, (MIB / 512) as u32, zeros.clone()),
                    }
                };
                let mut paced = Paced {
                    session: &mut other,
                    command: Box::new(command),
                    interval: Duration::from_nanos(offload.bytes() * 1_000_000_000 / RATE_BYTES),
                    due: Instant::now(),
                    sent: 0,
                    missed: 0,
                };
                busy.push(random_io_beside(&mut subject, blocks, true, depth, end, round, || paced.tend())?);
                paced.finish().context("the last offload command")?;
                sent += paced.sent;
                missed += paced.missed;
                kept.push(paced.sent as f64 / (paced.sent + paced.missed).max(1) as f64);
            }
            let name = offload.name();
            let what = format!("4 KiB writes, {depth} outstanding, beside {name} at {} MiB/s", RATE_BYTES / MIB);
            let (with, without) = (p99(&busy), p99(&idle));
            report.fact(format!(
                "p99 of {what}: {} µs (least {}), without {} µs (least {}); {sent} sent, {missed} left out as too late",
                with.median as u64, with.least as u64, without.median as u64, without.least as u64
            ));
            report.at_most(&format!("p99 of {what}"), with.median / without.median.max(1e-9), 2.0, "× without");
            let kept = Spread::of(kept).median;
            report.at_least(&format!("{name} sent on time beside {depth} outstanding"), kept, 0.9, "of all");
        }
    }
    Ok(())
}
