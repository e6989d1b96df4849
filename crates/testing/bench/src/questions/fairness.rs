//! Does one host's offload affect another host? One host reads or writes random 4 KiB blocks, four
//! outstanding, while another keeps the array busy with EXTENDED COPY of 4 MiB (or WRITE SAME of
//! zeros, 1 MiB) at depth 4 on other volumes; pool in memory. p99 of the first host's commands
//! during the offload, divided by p99 alone: lower is better. The offload has to progress too: its
//! rate beside the host, divided by its rate alone, higher is better. Alone and together in turn.
//! Small: 64 MiB, 2 rounds of 0.3 s. Large: 1 GiB, as requested.

use super::small_io::{Subject, random_io};
use super::{GIB, MIB, SEGMENT_BYTES, filled_volume};
use crate::Options;
use crate::command::{self, Command};
use crate::data::BLOCK_BYTES;
use crate::load::{self, End, Load};
use crate::report::{Report, Spread};
use crate::session::Session;
use crate::targets::{Windlass, memory_directory};
use anyhow::{Result, anyhow};
use bytes::Bytes;
use std::path::Path;
use std::thread;
use std::time::Duration;

pub(super) const ASKS: &str = "latency of one host's 4 KiB commands beside another host's offload";

/// Command that the offloading host sends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offload {
    Copy,
    Zero,
}

impl Offload {
    fn name(self) -> &'static str {
        match self {
            Self::Copy => "extended copy 4 MiB",
            Self::Zero => "write same 1 MiB",
        }
    }
}

/// Offloading host and its volumes; it uses a new session in each round.
struct Other<'a> {
    pid: u32,
    source: &'a str,
    destination: &'a str,
    size_bytes: u64,
}

impl Other<'_> {
    fn work(&self, offload: Offload, time: Duration) -> Result<Load> {
        let mut session = Session::connect(self.destination)?;
        let designators = (Session::connect(self.source)?.designator()?, session.designator()?);
        let zeros: Bytes = vec![0; 512].into();
        let next = |index: u64| -> Option<Command> {
            Some(match offload {
                Offload::Copy => {
                    let lba = index * SEGMENT_BYTES % self.size_bytes / 512;
                    command::extended_copy(&designators.0, &designators.1, lba, lba, (SEGMENT_BYTES / 512) as u16)
                }
                Offload::Zero => {
                    command::write_same(index * MIB % self.size_bytes / 512, (MIB / 512) as u32, zeros.clone())
                }
            })
        };
        load::run(&mut session, self.pid, 4, End::After(time), next, |_, _| Ok(()))
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let size_bytes = if options.small { 64 * MIB } else { GIB };
    let array = Windlass::start(windlass, &memory_directory()?, "4G")?;
    let pid = array.array.pid();
    let (_, session) = filled_volume(&array, "host", size_bytes)?;
    let (source, _) = filled_volume(&array, "template", size_bytes)?;
    let destination = array.array.create_volume("copy", &size_bytes.to_string())?;
    let mut subject = Subject { name: "windlass", pid, session };
    let other = Other { pid, source: source.url(), destination: destination.url(), size_bytes };
    let time = options.time();
    let host = |subject: &mut Subject, writes, seed| {
        random_io(subject, size_bytes / BLOCK_BYTES, writes, 4, End::After(time), seed)
    };
    let p99 = |loads: &[Load]| Spread::of(loads.iter().map(|load| load.latency_us(99.0)).collect()).median;
    let rate = |loads: &[Load]| Spread::of(loads.iter().map(Load::rate).collect()).median;

    for offload in [Offload::Copy, Offload::Zero] {
        for (what, writes) in [("reads", false), ("writes", true)] {
            let (mut idle, mut busy, mut offload_alone, mut offload_beside) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for round in 0..options.repetitions().max(2) as u64 {
                idle.push(host(&mut subject, writes, round)?);
                offload_alone.push(other.work(offload, time)?);
                thread::scope(|scope| -> Result<()> {
                    let beside = scope.spawn(|| other.work(offload, time));
                    busy.push(host(&mut subject, writes, round)?);
                    offload_beside.push(beside.join().map_err(|_| anyhow!("the other host's thread panicked"))??);
                    Ok(())
                })?;
            }
            let name = offload.name();
            report.fact(format!(
                "p99 of {what}: alone {} µs, beside {name} {} µs; {name}: alone {}/s, beside {what} {}/s",
                p99(&idle) as u64,
                p99(&busy) as u64,
                rate(&offload_alone) as u64,
                rate(&offload_beside) as u64
            ));
            report.at_most(&format!("p99 of {what} beside {name}"), p99(&busy) / p99(&idle).max(1e-9), 2.0, "× alone");
            let kept = rate(&offload_beside) / rate(&offload_alone).max(1e-9);
            report.at_least(&format!("{name} beside {what}"), kept, 0.2, "× alone");
        }
    }
    Ok(())
}
