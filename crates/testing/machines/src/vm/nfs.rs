//! `cargo xtask vm nfs`: the Linux kernel as an NFS client, in a virtual machine.
//!
//! The server runs on this machine: the array, or the server over a file system in memory. The guest
//! mounts its shares with NFSv4.2, 4.1 and 3, and works on them with programs that people use; `steps`
//! has that work, one file per step. After each step the kernel's log must be free of complaints about
//! NFS, and no call may have been sent twice unless the server was away.

mod lab;
mod script;
mod server;
mod steps;

use super::image::{Image, Kernel, Recipe};
use super::run::carry_out;
use crate::qemu::Accelerator;
use crate::tally::Tally;
use crate::workspace;
use anyhow::{Result, ensure};
use clap::Args;
use lab::Lab;
use server::Kind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Steps to run, and the server.
#[derive(Args)]
pub(super) struct Options {
    /// Only these steps, by name; see `--list`.
    #[arg(value_name = "STEP")]
    only: Vec<String>,
    /// Print the steps and exit.
    #[arg(long)]
    list: bool,
    /// Server that the guest mounts.
    #[arg(long, value_enum, default_value_t = Kind::Array)]
    server: Kind,
    /// Kernel of the guest.
    #[arg(long, value_enum, default_value_t = Kernel::Stable)]
    kernel: Kernel,
    /// Virtualisation of the guest's processor; with kvm it is an error when that does not work.
    #[arg(long, value_enum, default_value_t = Accelerator::Auto)]
    accelerator: Accelerator,
    /// End after this many minutes, even if steps are left.
    #[arg(long, default_value_t = 90, value_name = "MINUTES")]
    limit: u64,
    /// Print the output of every script in the guest.
    #[arg(long)]
    verbose: bool,
}

/// The guest's disk: the client, and programs that work on files.
const RECIPE: Recipe = Recipe {
    kernel: Kernel::Stable,
    packages: &[
        "nfs-common",
        "netbase",
        "attr",
        "git",
        "python3",
        "qemu-utils",
        "rsync",
        "sqlite3",
        "strace",
        "tar",
        "tcpdump",
        "tshark",
    ],
    modules: &["af_packet", "loop"],
};

/// Boots the guest and runs the steps, whose checks it counts.
pub(super) fn run(windlass: impl FnOnce() -> Result<PathBuf>, options: &Options) -> Result<Tally> {
    if options.list {
        for step in steps::ALL {
            println!("{:14} {}", step.name, step.asks);
        }
        return Ok(Tally::default());
    }
    for name in &options.only {
        let known = steps::ALL.iter().any(|step| step.name == name);
        ensure!(known, "there is no step {name}; see `cargo xtask vm nfs --list`");
    }
    workspace::need("vm")?;
    let started = Instant::now();
    let cache = super::cache()?;
    let image = Image::make(&cache, &Recipe { kernel: options.kernel, ..RECIPE })?;
    let directory = tempfile::Builder::new().prefix("nfs-").tempdir_in(&cache)?;
    let server = server::start(options.server, windlass, directory.path())?;
    let tool = super::stripped_self(directory.path())?;
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let archive = if steps::WITH_ARCHIVE.into_iter().any(wanted) {
        Some(steps::archive(&cache, directory.path())?)
    } else {
        None
    };
    let ends_at = started + Duration::from_secs(options.limit * 60);
    let tools = (tool.as_path(), archive.as_deref());
    let mut lab = Lab::start(server, &image, tools, directory.path(), options.accelerator, (options.verbose, ends_at))?;
    let processor = if lab.run.machine.emulated { "emulated" } else { "with KVM" };
    let kernel = lab.run.require("uname -r")?;
    println!(
        "  the guest is up after {}, {processor}, Linux {}",
        text::duration::measured(started.elapsed()),
        kernel.trim()
    );
    for (step, number) in steps::ALL.iter().zip(1..) {
        if wanted(step.name) {
            carry_out(&mut lab, number, step);
        }
    }
    let tally = lab.finish()?;
    println!("{}", text::duration::measured(started.elapsed()));
    if tally.failed > 0 {
        println!("  console and logs are kept in {}", directory.keep().display());
    }
    Ok(tally)
}
