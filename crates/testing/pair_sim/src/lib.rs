//! Replication between two arrays under a seed: the real `replication` at both ends, over engines in memory, in
//! virtual time.
//!
//! Connections are cut, also within a frame, and come up beside others that still deliver. Either array crashes at
//! any step, and keeps each change that was not durable or loses it. Hosts write at the owner; volumes are cloned,
//! resized, added and removed; retention deletes points; pools fill up; blocks rot; administrators take over, hand
//! over and give way.
//!
//! Checked:
//! * each recovery point of either array is what the group was at its instant, now and after a crash at any time;
//! * a block that the source could not read is lost at the target, and never anything else;
//! * a cycle changes no volume of an owner, and what a former owner had is kept;
//! * a common point is left, whatever retention takes;
//! * a cycle that was not interrupted sends no more blocks than have changed;
//! * without further faults, both arrays come to the same state.
//!
//! The same seed gives the same run; the hash of its history shows it.
#![forbid(unsafe_code)]

mod side;
mod store;
#[cfg(test)]
mod tests;
mod world;

use std::fmt;

/// Counters of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Cycles that a source has completed.
    pub cycles: u64,
    /// Connections that were cut.
    pub cuts: u64,
    /// Crashes.
    pub crashes: u64,
    /// Times that a replica took over.
    pub failovers: u64,
    /// Times that an owner gave way.
    pub yields: u64,
    /// Hash of what has happened.
    pub hash: u64,
}

impl Report {
    /// Adds the counters of another run.
    pub fn add(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.cuts += other.cuts;
        self.crashes += other.crashes;
        self.failovers += other.failovers;
        self.yields += other.yields;
        self.hash ^= other.hash;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycles, cuts, crashes, failovers, yields, .. } = self;
        write!(to, "{cycles} cycles, {cuts} cuts, {crashes} crashes, {failovers} taken over, {yields} given way")
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Counters.
    pub report: Report,
    /// The first violation of a property, if there was one.
    pub failure: Option<String>,
    /// A line for each event, when asked for.
    pub story: Vec<String>,
}

/// Runs a seed.
pub fn run(seed: u64, steps: u64, story: bool) -> Outcome {
    let mut world = world::World::new(seed, story);
    let failure = world.run(steps).err().map(|failure| format!("seed {seed}: {failure}"));
    world.report.hash = world.hash();
    Outcome { report: world.report.clone(), failure, story: world.story.take().unwrap_or_default() }
}
