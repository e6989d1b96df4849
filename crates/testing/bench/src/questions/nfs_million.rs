//! How does a directory behave when it grows to a million files? Eight clients create them by OPEN and
//! CLOSE, 32 operations outstanding each; then one client reads the directory, and looks up names in
//! it, one outstanding, in turns with a directory of one file; pool in memory. Files created a second:
//! higher is better. Seconds of READDIR: lower is better. p99 of LOOKUP, divided by that in the
//! directory of one file: lower is better. Small: 2 000 files.

use crate::Options;
use crate::load::{End, Load};
use crate::nfs::load::{self, Calls};
use crate::nfs::operations::{self, taken_handle};
use crate::nfs::session::Session;
use crate::nfs::tree::{self, Server};
use crate::report::{Report, Spread};
use crate::targets::{Windlass, memory_directory};
use ::nfs::v4::Filehandle;
use ::nfs::v4::operations::Outcome;
use anyhow::{Result, bail, ensure};
use nfs_client::Outcomes;
use random::Random;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const ASKS: &str = "a million files in one directory: creation by eight clients, READDIR, LOOKUP";

/// Share of the array.
const SHARE: &str = "bench";
/// Clients that create.
const CLIENTS: usize = 8;

/// A directory with its files, by number.
struct Directory {
    name: &'static str,
    handle: Filehandle,
    files: Vec<Filehandle>,
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let count = if options.small { 2000 } else { 1_000_000 };
    let (array, address) = Windlass::start_with_share(windlass, &memory_directory()?, "64G", SHARE)?;
    let pid = array.array.pid();
    let server = Server { name: "windlass", pid, address, share: SHARE };
    let sessions = (0..CLIENTS).map(|_| Session::connect(address, 32));
    let mut sessions = sessions.collect::<Result<Vec<_>>>()?;
    let root = tree::root(first_of(&mut sessions)?, &server)?;
    let mut directories = Vec::new();
    for (name, files) in [("a directory of one", 1), ("a directory of a million", count)] {
        let handle = tree::directory(first_of(&mut sessions)?, &root, &name.replace(' ', "-"))?;
        let (load, files) = tree::create_files(&mut sessions, pid, &handle, files)?;
        if files.len() > 1 {
            report.at_least("files created a second by eight clients", load.rate(), 10_000.0, "files");
            report.load("OPEN (create) + CLOSE, 8 clients", "windlass", load);
        }
        directories.push(Directory { name, handle, files });
    }
    sessions.drain(1..).try_for_each(Session::end)?;
    let session = first_of(&mut sessions)?;
    if let Some(million) = directories.last() {
        let names = listed(session, million, false)?;
        let attributes = listed(session, million, true)?;
        report.fact(format!("READDIR of {count} names with their attributes: {:.2} s", attributes.as_secs_f64()));
        report.at_most(&format!("READDIR of {count} names"), names.as_secs_f64(), 10.0, "s");
    }
    let mut loads = vec![Vec::new(); directories.len()];
    for repetition in 0..options.repetitions() {
        for (directory, loads) in directories.iter().zip(&mut loads) {
            let load = lookups(&mut sessions, pid, directory, options.time(), repetition as u64)?;
            report.load(&format!("LOOKUP in {}", directory.name), "windlass", load.clone());
            loads.push(load);
        }
    }
    let p99 = |loads: &Vec<Load>| Spread::of(loads.iter().map(|load| load.latency_us(99.0)).collect()).median;
    if let [one, million] = &loads[..] {
        report.at_most("p99 of LOOKUP among a million", p99(million) / p99(one).max(1e-9), 1.5, "× among one");
    }
    sessions.into_iter().try_for_each(Session::end)
}

fn first_of(sessions: &mut [Session]) -> Result<&mut Session> {
    match sessions {
        [first, ..] => Ok(first),
        [] => bail!("no client"),
    }
}

/// Reads all of a directory; returns the time. Each name has to come once.
fn listed(session: &mut Session, directory: &Directory, with_attributes: bool) -> Result<Duration> {
    let started = Instant::now();
    let (mut cookie, mut verifier) = (0, [0; 8]);
    let mut names = Vec::new();
    loop {
        let mut outcomes = session.call(&operations::list(&directory.handle, cookie, verifier, with_attributes))?;
        outcomes.skip(1)?;
        let Outcome::ReadDirectory(Ok(listed)) = outcomes.next_success()? else { bail!("no results of READDIR") };
        verifier = listed.verifier;
        let last = listed.entries.0.last().map(|entry| entry.cookie);
        names.extend(listed.entries.0.into_iter().map(|entry| entry.name));
        match last {
            _ if listed.eof => break,
            Some(last) if last != cookie => cookie = last,
            _ => bail!("READDIR does not move"),
        }
    }
    let time = started.elapsed();
    let mut names: Vec<_> = names.iter().map(|name| name.as_bytes().clone()).collect();
    names.sort_unstable();
    let wanted = (0..directory.files.len() as u64).map(tree::name);
    ensure!(wanted.eq(names.iter().map(|name| String::from_utf8_lossy(name).into_owned())), "READDIR: other names");
    Ok(time)
}

/// Looks up names at random, one outstanding.
fn lookups(sessions: &mut [Session], pid: u32, directory: &Directory, time: Duration, seed: u64) -> Result<Load> {
    let count = directory.files.len() as u64;
    let chosen = |number: u64| Random::new(seed << 40 ^ number).next() % count.max(1);
    let mut work = Calls {
        first: |number| Some(operations::lookup(&directory.handle, &tree::name(chosen(number)))),
        then: |number, mut outcomes: Outcomes| {
            let handle = taken_handle(&mut outcomes, 2)?;
            ensure!(directory.files.get(chosen(number) as usize) == Some(&handle), "LOOKUP found another file");
            outcomes.finish()?;
            Ok(None)
        },
        last: None,
    };
    load::run(sessions, pid, 1, End::After(time), &mut work)
}
