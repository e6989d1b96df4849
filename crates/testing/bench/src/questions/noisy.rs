//! Is a noisy neighbour held to its limit, and does its victim feel it? A victim writes random blocks of 4 KiB, one
//! outstanding, beside a neighbour on another volume: four sessions of random 4 KiB writes, 32 outstanding each, or
//! WRITE SAME of zeros over 40 GiB, 1 MiB each, four outstanding; pool in memory. The neighbour's volume has no policy,
//! or one of 1000 operations a second, in turn. p99 of the victim divided by p99 alone: lower is better; and the rate
//! of the neighbour divided by its limit: 1 is the goal. Small: 64 MiB and 1 GiB, 2 rounds of 0.3 s.

use super::small_io::{Subject, random_io};
use super::{GIB, MIB, filled_volume};
use crate::Options;
use crate::command;
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

pub(super) const ASKS: &str = "latency of 4 KiB writes beside a noisy neighbour, with and without a limit";

/// Operations a second of the policy.
const LIMIT: u32 = 1000;
/// Sessions of a neighbour that writes, and outstanding commands of each.
const SESSIONS: u64 = 4;
const DEPTH: usize = 32;

/// What a neighbour does.
#[derive(Clone, Copy)]
enum Noise {
    Writes,
    Zeros,
}

impl Noise {
    const fn name(self) -> &'static str {
        match self {
            Self::Writes => "4 KiB writes of 4 sessions, 32 outstanding each",
            Self::Zeros => "write same of zeros over 40 GiB",
        }
    }

    const fn volume(self) -> &'static str {
        match self {
            Self::Writes => "noisy",
            Self::Zeros => "zeroed",
        }
    }
}

/// Neighbour on its volume; it uses new sessions in each round.
struct Neighbour {
    noise: Noise,
    pid: u32,
    url: String,
    size_bytes: u64,
}

impl Neighbour {
    /// Commands a second.
    fn work(&self, time: Duration, round: u64) -> Result<f64> {
        let end = End::After(time);
        match self.noise {
            Noise::Zeros => {
                let zeros: Bytes = vec![0; 512].into();
                let next = |index: u64| {
                    let lba = index * MIB % self.size_bytes / 512;
                    Some(command::write_same(lba, (MIB / 512) as u32, zeros.clone()))
                };
                let mut session = Session::connect(&self.url)?;
                Ok(load::run(&mut session, self.pid, 4, end, next, |_, _| Ok(()))?.rate())
            }
            Noise::Writes => thread::scope(|scope| {
                let sessions: Vec<_> = (0..SESSIONS)
                    .map(|number| {
                        scope.spawn(move || {
                            let session = Session::connect(&self.url)?;
                            let mut subject = Subject { name: "windlass", pid: self.pid, session };
                            let blocks = self.size_bytes / BLOCK_BYTES;
                            random_io(&mut subject, blocks, true, DEPTH, end, round * SESSIONS + number)
                        })
                    })
                    .collect();
                let mut rate = 0.0;
                for session in sessions {
                    rate += session.join().map_err(|_| anyhow!("a neighbour's thread panicked"))??.rate();
                }
                Ok(rate)
            }),
        }
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let size_bytes = if options.small { 64 * MIB } else { GIB };
    let zeroed_bytes = if options.small { GIB } else { 40 * GIB };
    let array = Windlass::start(windlass, &memory_directory()?, "4G")?;
    let pid = array.array.pid();
    let (_, session) = filled_volume(&array, "victim", size_bytes)?;
    let (noisy, _) = filled_volume(&array, "noisy", size_bytes)?;
    let zeroed = array.array.create_volume("zeroed", &zeroed_bytes.to_string())?;
    array.array.command(&["qos", "create", "limit", "--iops", &LIMIT.to_string()])?;
    let mut victim = Subject { name: "windlass", pid, session };
    let time = options.time();
    let neighbours = [
        Neighbour { noise: Noise::Writes, pid, url: noisy.url().to_owned(), size_bytes },
        Neighbour { noise: Noise::Zeros, pid, url: zeroed.url().to_owned(), size_bytes: zeroed_bytes },
    ];
    let mut round = 0;
    let mut alone = |victim: &mut Subject| -> Result<Load> {
        round += 1;
        random_io(victim, size_bytes / BLOCK_BYTES, true, 1, End::After(time), round)
    };
    for neighbour in &neighbours {
        let (name, volume) = (neighbour.noise.name(), neighbour.noise.volume());
        // Alone, beside the neighbour without limit, and beside the neighbour with one.
        let (mut victims, mut rates): ([Vec<Load>; 3], [Vec<f64>; 2]) = Default::default();
        for turn in 0..options.repetitions().max(2) as u64 {
            let [quiet, beside @ ..] = &mut victims;
            quiet.push(alone(&mut victim)?);
            for ((loads, rates), limited) in beside.iter_mut().zip(&mut rates).zip([false, true]) {
                if limited {
                    array.array.command(&["qos", "attach", "limit", "--volume", volume])?;
                }
                thread::scope(|scope| -> Result<()> {
                    let noise = scope.spawn(|| neighbour.work(time, turn));
                    loads.push(alone(&mut victim)?);
                    rates.push(noise.join().map_err(|_| anyhow!("the neighbour's thread panicked"))??);
                    Ok(())
                })?;
                if limited {
                    array.array.command(&["qos", "detach", "--volume", volume])?;
                }
            }
        }
        let p99 = |loads: &[Load]| Spread::of(loads.iter().map(|load| load.latency_us(99.0)).collect());
        let [quiet, free, limited] = victims.map(|loads| p99(&loads));
        let [free_rate, limited_rate] = rates.map(|rates| Spread::of(rates).median);
        report.fact(format!(
            "p99 of the victim: alone {} µs (to {}), beside {name} {} µs (to {}) at {}/s, limited {} µs (to {}) at {}/s",
            quiet.median as u64,
            quiet.greatest as u64,
            free.median as u64,
            free.greatest as u64,
            free_rate as u64,
            limited.median as u64,
            limited.greatest as u64,
            limited_rate as u64
        ));
        report.at_most(&format!("p99 beside {name}, limited"), limited.median / quiet.median.max(1e-9), 2.0, "× alone");
        let error = (limited_rate / f64::from(LIMIT) - 1.0).abs() * 100.0;
        report.at_most(&format!("rate of {name}"), error, 3.0, "% from its limit");
    }
    Ok(())
}
