//! `cargo xtask vm` (`make test-vm`): the Linux kernel as a host of the array, in a virtual machine.
//!
//! The array runs on this machine, on two portals of 127.0.0.1. A QEMU guest with Debian's kernel,
//! open-iscsi, dm-multipath, sg3_utils, ddpt and file systems accesses them over QEMU's user
//! network; `steps` has the guest's work, one file per step. LIO in the same guest is the
//! peer with which `steps::differential` compares the array. `nfs` has the guest as an NFS client.
//!
//! It is not part of `cargo xtask ci`: it takes minutes, and more where there is no KVM and the
//! guest is emulated. It ends by itself.

mod image;
mod lab;
mod machine;
mod nfs;
mod run;
mod steps;

use crate::qemu::Accelerator;
use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, ensure};
use array_process::program;
use clap::{Args, Subcommand};
use image::{Image, Kernel, Recipe};
use lab::Lab;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Steps to run.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    other: Option<Other>,
    /// Only these steps, by name; see `--list`.
    #[arg(value_name = "STEP")]
    only: Vec<String>,
    /// Print the steps and exit.
    #[arg(long)]
    list: bool,
    /// Virtualisation of the guest's processor; with kvm it is an error when that does not work.
    #[arg(long, value_enum, default_value_t = Accelerator::Auto)]
    accelerator: Accelerator,
    /// End after this many minutes, even if steps are left.
    #[arg(long, default_value_t = 20, value_name = "MINUTES")]
    limit: u64,
    /// Print the output of every script in the guest.
    #[arg(long)]
    verbose: bool,
}

/// Other subjects than the iSCSI initiator.
#[derive(Subcommand)]
enum Other {
    /// The kernel's NFS client with an NFS server on this machine.
    Nfs(nfs::Options),
}

/// The guest's disk: initiator, multipath, and LIO's modules.
const RECIPE: Recipe = Recipe {
    kernel: Kernel::Stable,
    packages: &["open-iscsi", "multipath-tools", "dmsetup", "sg3-utils", "ddpt", "lsscsi"],
    modules: &["scsi_mod", "sd_mod", "sg", "iscsi_tcp", "dm_multipath", "dm_service_time", "dm_round_robin"],
};

/// Examples for the help.
pub const EXAMPLES: &str = "Examples:
  cargo xtask vm
  cargo xtask vm multipath reservations --verbose
  cargo xtask vm nfs
  cargo xtask vm nfs files --verbose

Needs Debian on x86-64; missing packages are installed with apt-get, and the guest's disk is made once, as root. No part of
`cargo xtask ci`.";

/// Boots the guest and runs the steps, whose checks it counts.
/// `windlass` finds the program, where it is needed.
pub fn run(windlass: impl FnOnce() -> Result<PathBuf>, options: &Options) -> Result<Tally> {
    if let Some(Other::Nfs(options)) = &options.other {
        return nfs::run(windlass, options);
    }
    if options.list {
        for step in steps::ALL {
            println!("{:14} {}", step.name, step.asks);
        }
        return Ok(Tally::default());
    }
    for name in &options.only {
        let known = steps::ALL.iter().any(|step| step.name == name);
        ensure!(known, "there is no step {name}; see `cargo xtask vm --list`");
    }
    workspace::need("vm")?;
    let started = Instant::now();
    let cache = cache()?;
    let image = Image::make(&cache, &RECIPE)?;
    let directory = tempfile::Builder::new().prefix("run-").tempdir_in(&cache)?;
    let tool = stripped_self(directory.path())?;
    let mut lab = Lab::start(&windlass()?, &image, &tool, directory.path(), options.accelerator)?;
    lab.run.verbose = options.verbose;
    lab.run.ends_at = started + Duration::from_secs(options.limit * 60);
    let processor = if lab.run.machine.emulated { ", emulated" } else { ", with KVM" };
    println!("  the guest is up after {}{processor}", text::duration::measured(started.elapsed()));
    for (step, number) in steps::ALL.iter().zip(1..) {
        if options.only.is_empty() || options.only.iter().any(|name| name == step.name) {
            run::carry_out(&mut lab, number, step);
        }
    }
    let tally = lab.finish()?;
    println!("{}", text::duration::measured(started.elapsed()));
    if tally.failed > 0 {
        println!("  console, logs and pool are kept in {}", directory.keep().display());
    }
    Ok(tally)
}

/// LIO in the guest, for other comparisons.
pub(crate) struct Lio {
    url: String,
    _lab: Lab,
    // Dropped after the guest: fields are dropped in declaration order.
    _directory: tempfile::TempDir,
}

impl Lio {
    /// Boots the guest and starts LIO in it, with two logical units of `size_mib` MiB in the
    /// guest's memory.
    pub(crate) fn start(windlass: &Path, size_mib: u64) -> Result<Self> {
        workspace::need("vm")?;
        let cache = cache()?;
        let image = Image::make(&cache, &RECIPE)?;
        let directory = tempfile::Builder::new().prefix("lio-").tempdir_in(&cache)?;
        let tool = stripped_self(directory.path())?;
        let mut lab = Lab::start(windlass, &image, &tool, directory.path(), Accelerator::Auto)?;
        let url = steps::differential::start_lio(&mut lab, size_mib)?;
        let url = format!("iscsi://{}:{}/{}/{}", url.host, url.port, url.target, url.lun);
        Ok(Self { url, _lab: lab, _directory: directory })
    }

    /// URL of LUN 0; the other logical unit is LUN 1.
    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }
}

/// Folder in which the guest's disk is kept.
fn cache() -> Result<PathBuf> {
    let cache = workspace::target().join("vm");
    std::fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    Ok(cache.canonicalize()?)
}

/// The running program, `xtask`, without its symbols: its command `fsx` runs in the guest.
fn stripped_self(directory: &Path) -> Result<PathBuf> {
    let tool = directory.join("xtask");
    let strip = program::find("strip").context("strip is not installed; it is in the package binutils")?;
    program::require(&strip, &[Path::new("-o"), &tool, &std::env::current_exe()?], Duration::from_secs(60))?;
    Ok(tool)
}
