//! The world of a run: the disk, the hosts, and which commands are drawn how often. A seed decides all of it.

use media::{Fault, FaultEffect, FaultOperation, SimOptions};
use random::Random;
use std::time::Duration;

/// Blocks of 512 bytes of each volume that commands use.
pub(crate) const WINDOW: u64 = 192;
/// The first blocks are for COMPARE AND WRITE alone.
pub(crate) const LOCKS: u64 = 8;
/// Copies go from below this block to this block and above.
pub(crate) const COPIES: u64 = 96;
/// Size of a volume in bytes.
pub(crate) const VOLUME_BYTES: u64 = 8 << 20;

/// Files of the share, each of as many blocks as commands use of a volume.
pub(crate) const FILES: usize = 3;
/// Lease of clients of NFSv4. Hosts that come back after a kill wait as long at most.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

/// A command that a host may send, or something else that it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    CompareAndWrite,
    WriteSame,
    Zero,
    Unmap,
    Copy,
    Flush,
    TestUnitReady,
    Register,
    Reserve,
    Release,
    AbortTask,
    LogicalUnitReset,
    Cut,
    Logout,
}

const USUAL: &[(Kind, u64)] = &[
    (Kind::Read, 300),
    (Kind::Write, 300),
    (Kind::CompareAndWrite, 60),
    (Kind::WriteSame, 30),
    (Kind::Zero, 30),
    (Kind::Unmap, 30),
    (Kind::Copy, 60),
    (Kind::Flush, 15),
    (Kind::TestUnitReady, 15),
    (Kind::Register, 4),
    (Kind::Reserve, 2),
    (Kind::Release, 4),
    (Kind::AbortTask, 12),
    (Kind::LogicalUnitReset, 3),
    (Kind::Cut, 6),
    (Kind::Logout, 4),
];

/// How a run is made.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub seed: u64,
    pub hosts: usize,
    pub volumes: usize,
    /// Commands of each host.
    pub commands: u64,
    /// Commands of a host in flight.
    pub depth: usize,
    /// Longest pause of a host between two commands, in milliseconds.
    pub pause_ms: u64,
    pub digests: bool,
    pub delay: u16,
    pub immediate: bool,
    /// Kills of the array.
    pub kills: u64,
    /// Requests of the disk fail.
    pub faulty: bool,
    /// Executors besides the engine's thread.
    pub executors: usize,
    pub weights: Vec<(Kind, u64)>,
    /// Hosts of NFS, beside those of iSCSI.
    pub nfs_hosts: usize,
    /// Calls of each of them.
    pub nfs_calls: u64,
    /// Volumes and hosts have limits, which change.
    pub limits: bool,
    /// Some commands are ORDERED or HEAD OF QUEUE.
    pub ordered: bool,
}

impl World {
    pub(crate) fn of(seed: u64, commands: u64) -> Self {
        let random = Random::new(seed ^ 0x0077_686f_6c65);
        let choose = |list: &[u64]| list.get(random.below(list.len() as u64) as usize).copied().unwrap_or(0);
        let hosts = choose(&[1, 2, 2, 3, 4]) as usize;
        let volumes = choose(&[1, 2, 2]) as usize;
        let depth = choose(&[1, 4, 16, 32]) as usize;
        let pause_ms = choose(&[0, 0, 3, 30]);
        let digests = choose(&[0, 1]) == 1;
        let delay = choose(&[0, 64, 200, 250]) as u16;
        let immediate = choose(&[0, 0, 0, 1]) == 1;
        let kills = choose(&[0, 0, 1, 1, 2]);
        let faulty = choose(&[0, 0, 0, 1]) == 1;
        let mut weights = USUAL.to_vec();
        for (_, weight) in &mut weights {
            *weight *= choose(&[0, 1, 2, 2, 2, 4]);
        }
        weights.push((Kind::Read, 50));
        weights.push((Kind::Write, 50));
        let executors = choose(&[0, 1, 2]) as usize;
        let nfs_hosts = choose(&[0, 1, 2, 2]) as usize;
        let nfs_calls = commands / 2 / nfs_hosts.max(1) as u64 + 1;
        let commands = commands / hosts as u64 + 1;
        let random = Random::new(seed ^ 0x6c69_6d69_7473);
        let limits = random.chance(40);
        let ordered = limits && random.chance(50);
        Self {
            seed,
            hosts,
            volumes,
            commands,
            depth,
            pause_ms,
            digests,
            delay,
            immediate,
            kills,
            faulty,
            executors,
            weights,
            nfs_hosts,
            nfs_calls,
            limits,
            ordered,
        }
    }

    pub(crate) fn draw(&self, random: &Random) -> Kind {
        let sum = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut at = random.below(sum);
        for (kind, weight) in &self.weights {
            if at < *weight {
                return *kind;
            }
            at -= weight;
        }
        Kind::Read
    }

    /// The disk of the pool.
    pub(crate) fn disk(&self) -> SimOptions {
        // Superblocks, log, space map and some segments of data.
        let mut options = SimOptions::new(self.seed ^ 0x5eed, 6 * 2048 + 1);
        options.delay = self.delay;
        options.immediate = self.immediate;
        options
    }

    /// A fault of the disk.
    pub(crate) fn fault(&self, random: &Random) -> Fault {
        let operation = match random.below(4) {
            0 => FaultOperation::Read,
            1 => FaultOperation::Flush,
            _ => FaultOperation::Write,
        };
        let effect = match random.below(4) {
            0 => FaultEffect::ErrorAfterEffect,
            1 if operation == FaultOperation::Write => FaultEffect::NoSpace,
            _ => FaultEffect::Error,
        };
        let sticky = random.chance(30);
        let fault = if sticky { Fault::sticky(operation, effect) } else { Fault::once(operation, effect) };
        fault.after(random.below(60))
    }

    /// Time until the next kill or fault.
    pub(crate) fn peace(&self, random: &Random) -> Duration {
        let longest_ms = [20, 300, 3000][random.below(3) as usize];
        Duration::from_millis(random.below(longest_ms) + 1)
    }
}
