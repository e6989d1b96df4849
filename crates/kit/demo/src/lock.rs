//! A lock that two hosts contend for: by a reservation of the whole disk, and by COMPARE AND WRITE
//! on one block.
//!
//! The lock is a counter in block 0. Each initiator adds 1 to it many times, through its own
//! portal; at the end, the counter shows whether an update was lost. With a reservation an addition
//! is RESERVE, READ, WRITE, RELEASE, and all other hosts are kept off the disk meanwhile. With
//! COMPARE AND WRITE (VMware calls it ATS) it is READ and COMPARE AND WRITE, and only a host that
//! uses the same block is affected.

use anyhow::{Context, Result, bail};
use conformance::commands::Compared;
use conformance::initiator::{Session, SessionOptions};
use conformance::race::{self, RaceOptions, RaceReport};
use conformance::url::Url;
use std::thread;

/// Size of the block with the counter, in bytes.
const BLOCK_BYTES: usize = 512;

/// Function that adds 1 to the counter. Returns the number of retries.
pub(crate) type Add = fn(&mut Session) -> Result<u64>;

/// Initiators, logged in through different portals.
pub(crate) struct Hosts(Vec<Session>);

impl Hosts {
    /// Logs in once for each URL.
    pub(crate) fn log_in(urls: &[String]) -> Result<Self> {
        let log_in = |(qualifier, url): (u16, &String)| {
            let initiator_name = format!("iqn.2026-01.org.example:host{qualifier}");
            let options = SessionOptions { initiator_name, qualifier, ..SessionOptions::default() };
            let mut session = Session::connect(&parse(url)?, &options)?;
            session.clear_unit_attentions()?;
            Ok(session)
        };
        (1..).zip(urls).map(log_in).collect::<Result<Vec<_>>>().map(Self)
    }

    /// Lets every host add 1 `times` times, concurrently. Returns the number of conflicts.
    pub(crate) fn contend(&mut self, times: u64, add: Add) -> Result<u64> {
        thread::scope(|scope| {
            let contenders: Vec<_> = self
                .0
                .iter_mut()
                .map(|session| scope.spawn(move || (0..times).map(|_| add(session)).sum::<Result<u64>>()))
                .collect();
            let mut conflicts = 0;
            for contender in contenders {
                match contender.join() {
                    Ok(own) => conflicts += own?,
                    Err(_panic) => bail!("an initiator of the demo failed"),
                }
            }
            Ok(conflicts)
        })
    }

    /// Value of the counter.
    pub(crate) fn counter(&mut self) -> Result<u64> {
        let session = self.0.first_mut().context("no host is logged in")?;
        read(session)
    }
}

fn parse(url: &str) -> Result<Url> {
    url.parse().with_context(|| format!("{url} is no URL"))
}

fn read(session: &mut Session) -> Result<u64> {
    let block = session.read16(0, 1)?;
    let counter = block.first_chunk().context("a block without bytes")?;
    Ok(u64::from_le_bytes(*counter))
}

fn block(counter: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    block.splice(..8, counter.to_le_bytes());
    block
}

/// Adds 1 by the host's method: the whole disk is reserved.
pub(crate) fn with_reservation(session: &mut Session) -> Result<u64> {
    let mut conflicts = 0;
    while !session.reserve()? {
        conflicts += 1;
    }
    let counter = read(session)?;
    session.write16(0, block(counter + 1).into())?;
    session.release()?;
    Ok(conflicts)
}

/// Adds 1 by the array's method: it compares and writes in one step.
pub(crate) fn with_compare_and_write(session: &mut Session) -> Result<u64> {
    let mut conflicts = 0;
    loop {
        let counter = read(session)?;
        match session.compare_and_write(0, &block(counter), &block(counter + 1))? {
            Compared::Written => return Ok(conflicts),
            Compared::Miscompare(_) => conflicts += 1,
        }
    }
}

/// Races COMPARE AND WRITE against all other commands that write, on one block, through all
/// portals.
pub(crate) fn race(urls: &[String], rounds: u64) -> Result<RaceReport> {
    let urls = urls.iter().map(|url| parse(url)).collect::<Result<Vec<_>>>()?;
    Ok(race::run(&RaceOptions { rounds, ..RaceOptions::new(urls) })?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_counter_is_a_block() {
        let block = super::block(0x0102);
        assert_eq!((block.len(), &block[..3]), (512, &[2, 1, 0][..]));
    }
}
