//! `cargo xtask`: automation of the project. One file per command, or a crate of `testing` for the
//! larger ones: `machines`, `bench`, `simulate`. `ci` runs the commands that every change must pass;
//! `storm`, `power-cut`, `enospc`, `vm`, `scorecard`, `peers` and `fsx` are run by hand.
#![forbid(unsafe_code)]

mod chaos;
mod ci;
mod clients;
mod conformance;
mod dependencies;
mod fuzz;
mod kill;
mod race;
mod re_exports;
mod scorecard;
mod storm;
mod structure;
mod suite;
mod threads;
mod waits;
mod width;
mod workspace;

use anyhow::Result;
use array_process::tally::{self, Tally};
use clap::{Parser, Subcommand};
use machines::{enospc, fsx, peers, power_cut, vm};
use std::path::PathBuf;
use std::process::ExitCode;

/// Automation of the Windlass project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    /// The `windlass` program to check; default: the release build of this workspace.
    #[arg(long, global = true, value_name = "FILE")]
    windlass: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Every check that a change must pass; ends with the line `N passed, N failed`.
    Ci(ci::Options),
    /// Every test of libiscsi's iscsi-test-cu against the array, each in a process of its own.
    Suite(suite::Options),
    /// Third-party initiators and a misbehaving one: access, CHAP, QEMU's copies, resets and broken
    /// connections under load.
    Clients(clients::Options),
    /// The conformance kit against a new array; a failing check has to be a known gap.
    Conformance(conformance::Options),
    /// Initiators race for one block through two portals; no acknowledged update may be lost.
    Race(race::Options),
    /// Malicious initiators, from a seed, beside two well-behaved ones that must not be affected.
    Chaos(chaos::Options),
    /// kill -9 under a load that knows which writes were acknowledged; pool check after every kill.
    Kill(kill::Options),
    /// Host processes on one clustered datastore, killed at random under a storm of locks and
    /// metadata changes; no acknowledged change may be lost.
    Storm(storm::Options),
    /// Power cuts of a whole machine under loads that know which writes were acknowledged; the disk
    /// loses writes that were not flushed.
    #[command(after_help = power_cut::EXAMPLES)]
    PowerCut(power_cut::Options),
    /// A pool fills up under a QEMU guest, which pauses; it grows, and the guest continues without
    /// loss of data.
    #[command(after_help = enospc::NOTES)]
    Enospc(enospc::Options),
    /// The Linux kernel's initiator, multipath, sg3_utils, ddpt and file systems against the array,
    /// in a virtual machine, with LIO as a peer; or its NFS client (`vm nfs`).
    #[command(after_help = vm::EXAMPLES)]
    Vm(vm::Options),
    /// The conformance kit and libiscsi's suite against this array, tgt, istgt and LIO, as a
    /// comparison.
    Scorecard(scorecard::Options),
    /// The host kit against the same four targets: results of the probe and of the laboratory, in
    /// one report.
    Peers(peers::Options),
    /// Random operations on a file of a file system, compared with a model in memory.
    Fsx(fsx::Options),
    /// The benchmark kit; see docs/benchmarks.md.
    Bench(bench::Options),
    /// libFuzzer on every decoder and state machine that hostile input reaches.
    Fuzz(fuzz::Options),
    /// The real engine on a simulated disk with crashes, one run for each seed; a seed replays exactly.
    Sim(simulate::Options),
    /// The allowed edges between our crates, and the licences of all dependencies.
    Deps,
    /// Check the inside of crates: imports without cycles, private state, sizes.
    Structure,
    /// Checks that no test sleeps a fixed time for an event, or asserts a short duration.
    Waits,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(tally) => {
            println!("{tally}");
            if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<Tally> {
    let windlass = || workspace::windlass(arguments.windlass.as_deref());
    match &arguments.command {
        Command::Ci(options) => ci::run(options),
        Command::Suite(options) => suite::run(&windlass()?, options),
        Command::Clients(options) => clients::run(&windlass()?, options),
        Command::Conformance(options) => conformance::run(&windlass()?, options),
        Command::Race(options) => race::run(&windlass()?, options),
        Command::Chaos(options) => chaos::run(&windlass()?, options),
        Command::Kill(options) => kill::run(&windlass()?, options),
        Command::Storm(options) => storm::run(&windlass()?, options),
        Command::PowerCut(options) => power_cut::run(&windlass()?, options),
        Command::Enospc(options) => enospc::run(&windlass()?, options),
        Command::Vm(options) => vm::run(windlass, options),
        Command::Scorecard(options) => scorecard::run(&windlass()?, options),
        Command::Peers(options) => peers::run(&windlass()?, options),
        Command::Fsx(options) => fsx::run(options),
        Command::Bench(options) if options.serve_floor => bench::serve_floor().map(|()| Tally::default()),
        Command::Bench(options) => {
            let outcome = bench::run(&windlass()?, options)?;
            Ok(Tally { passed: outcome.reached, failed: outcome.missed })
        }
        Command::Fuzz(options) => fuzz::run(options),
        Command::Sim(options) => simulate::run(options),
        Command::Deps => dependencies::run(),
        Command::Structure => structure::run(),
        Command::Waits => waits::run(),
    }
}
