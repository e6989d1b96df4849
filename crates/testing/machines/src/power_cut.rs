//! `cargo xtask power-cut`: the power of a whole machine is cut repeatedly under loads that know
//! which writes were acknowledged.
//!
//! The array runs in a small QEMU guest on a virtio disk. A cut is SIGKILL of QEMU: the guest's
//! memory, its page cache and all requests in flight are lost. But data that QEMU has passed to the
//! host remains, so this alone is weaker than a real power cut. Therefore the disk is normally
//! served by an NBD server in this process (`volatile_disk`): it keeps writes that were not
//! flushed in memory, and at the cut loses, tears or keeps each of them at random.
//!
//! After each cut the guest boots again, sometimes with another cut while the array starts. Every
//! block is compared with the acknowledged writes, and so are names and contents of the snapshots
//! and clones created under load. Every tenth time, and at the end, `windlass pool check` reads the
//! pool before recovery has repaired it. The seed determines the load and the times of the cuts,
//! but a run does not replay exactly, because the timing of the machine matters too.

mod copies;
mod guest;
mod machine;
mod nbd;
mod remote;
mod volatile_disk;
mod writers;

pub(crate) use guest::Guest;
pub(crate) use machine::{DiskSource, Machine, Rack};

use crate::qemu::Accelerator;
use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use array_process::array::free_portal;
use array_process::program;
use clap::{Args, ValueEnum};
use copies::Copies;
use nbd::Server;
use random::Random;
use remote::Remote;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use volatile_disk::VolatileDisk;
use writers::{ALL_BLOCKS, Writers};

/// Number of cuts, kind of disk, and place.
#[derive(Args)]
pub struct Options {
    /// Number of cuts under load.
    #[arg(long, default_value_t = 50)]
    cycles: u32,
    /// Place of the pool: the disk itself, or a file of an ext4 on it.
    #[arg(long, value_enum, default_value_t = PoolForm::Device)]
    pool: PoolForm,
    /// Seed of the loads, the times of the cuts and the writes that the disk loses.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Whether the disk loses and tears writes that were not flushed. If off, the disk is a file of
    /// this machine, opened with O_DIRECT, and only data that QEMU has not passed on is lost.
    #[arg(long, value_enum, value_name = "on|off", num_args = 0..=1, default_value_t = Switch::On, default_missing_value = "on")]
    lose_writes: Switch,
    /// Use a disk that does not keep flushed writes. The check then has to fail, which shows that
    /// it can.
    #[arg(long)]
    disk_lies: bool,
    /// Virtualisation of the guest's processor.
    #[arg(long, value_enum, default_value_t = Accelerator::Auto)]
    accelerator: Accelerator,
    /// Directory on a real disk, which may need 4 GiB; default: `target/power-cut`.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Examples for the help.
pub const EXAMPLES: &str = "Examples:
  cargo xtask power-cut
  cargo xtask power-cut --cycles 10 --pool file --seed 7
  cargo xtask power-cut --cycles 10 --lose-writes off
  cargo xtask power-cut --cycles 3 --disk-lies        # has to fail

Needs Debian on x86-64; missing packages are installed with apt-get. Takes minutes and is no part of `cargo xtask ci`.";

/// Place of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PoolForm {
    /// A block device.
    Device,
    /// A file.
    File,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Flag that Ctrl-C and similar signals set.
#[derive(Clone, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    pub(crate) fn watch() -> Result<Self> {
        let interruption = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interruption.0)).context("cannot watch for Ctrl-C")?;
        }
        Ok(interruption)
    }

    /// Returns an error once the run was interrupted.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(!self.0.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}

/// Size of the disk; sparse.
const DISK_BYTES: u64 = 4 << 30;
/// Volumes under load, and their size.
const VOLUMES: [&str; 2] = ["power-a", "power-b"];
const VOLUME_SIZE: &str = "1G";
/// Time limit from the start of QEMU until the array serves. Emulation on a busy machine is slow.
const BOOT_LIMIT: Duration = Duration::from_secs(240);
/// Time limit of one `pool check`.
const CHECK_LIMIT: Duration = Duration::from_secs(300);
/// Time limit for the disk to receive the data that QEMU has sent.
const CUT_LIMIT: Duration = Duration::from_secs(60);
/// Range of the time for which the loads run between two cuts.
const RUN_MS: std::ops::Range<u64> = 1_000..6_000;
/// Longest delay of a cut, to wait until the disk has writes to lose.
const STOP_LIMIT: Duration = Duration::from_millis(300);
/// Longest delay until a start is cut again, in one of [`CUT_STARTS`] cycles.
const START_MS: u64 = 1_500;
const CUT_STARTS: u64 = 4;
/// A snapshot is taken in one of this many cycles; the pool is checked in every tenth.
const COPY_CYCLES: u32 = 3;
const CHECK_CYCLES: u32 = 10;

/// Cuts and checks; one check per cut, and one for each `pool check`.
pub fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let interruption = Interruption::watch()?;
    workspace::need("power-cut")?;
    let cache = workspace::target().join("power-cut");
    let parent = options.directory.clone().unwrap_or_else(|| cache.clone());
    for directory in [&cache, &parent] {
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let directory = tempfile::Builder::new().prefix("run-").tempdir_in(&parent)?;
    // QEMU and apt-get run in other working directories.
    let place = directory.path().canonicalize()?;
    let mut site = Site::prepare(windlass, options, &cache.canonicalize()?, &place, interruption.clone())?;
    let mut tally = Tally::default();
    let result = site.carry_out(options, &mut tally);
    // The guest has to end before its disk.
    let counts = site.server.as_ref().map(|server| server.disk().counts());
    drop(site);
    if let Some(counts) = counts {
        println!("{counts}");
    }
    match result {
        Ok(()) => {}
        Err(_) if interruption.check().is_err() => bail!("interrupted; the guest and its disk are gone"),
        Err(error) => {
            println!("  {error:#}\n  disk and console are kept in {}", directory.keep().display());
            tally += Tally::one(false);
        }
    }
    Ok(tally)
}

/// Disk, its machine, and the array in it.
struct Site {
    windlass: PathBuf,
    disk: PathBuf,
    rack: Rack,
    server: Option<Server>,
    remote: Remote,
    /// Variables for every boot.
    parameters: String,
    pool: PoolForm,
    interruption: Interruption,
    slowest_start: Duration,
}

impl Site {
    fn prepare(
        windlass: &Path,
        options: &Options,
        cache: &Path,
        directory: &Path,
        interruption: Interruption,
    ) -> Result<Self> {
        let windlass = windlass.canonicalize()?;
        let guest = Guest::make(&windlass, cache, directory)?;
        let disk = directory.join("disk");
        File::create(&disk)?.set_len(DISK_BYTES)?;
        let loses = options.lose_writes == Switch::On || options.disk_lies;
        let (server, source) = match loses {
            true => {
                let socket = directory.join("nbd");
                let seeded = VolatileDisk::open(&disk, options.seed, options.disk_lies)?;
                (Some(Server::start(&socket, seeded)?), DiskSource::Nbd(socket))
            }
            false => (None, DiskSource::File(disk.clone())),
        };
        let mut random = [0; 16];
        std::io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut random)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let token_file = directory.join("token");
        std::fs::write(&token_file, &token)?;
        let (iscsi_port, http_port) = (free_portal()?.port(), free_portal()?.port());
        let mut rack = Rack {
            guest,
            accelerator: options.accelerator,
            disk: source,
            forwards: vec![(iscsi_port, 3260), (http_port, 8443)],
            monitor: None,
            directory: directory.to_path_buf(),
            interruption: interruption.clone(),
        };
        rack.choose_accelerator()?;
        let form = match options.pool {
            PoolForm::Device => "device",
            PoolForm::File => "file",
        };
        Ok(Self {
            remote: Remote { windlass: windlass.clone(), iscsi_port, http_port, token_file },
            windlass,
            disk,
            rack,
            server,
            parameters: format!("pool={form} token={token}"),
            pool: options.pool,
            interruption,
            slowest_start: Duration::ZERO,
        })
    }

    /// Runs all cycles and adds to the tally; an error is a failed check.
    fn carry_out(&mut self, options: &Options, tally: &mut Tally) -> Result<()> {
        let started = Instant::now();
        let random = Random::new(options.seed);
        let mut machine = self.start("make")?;
        let mut urls = Vec::new();
        for volume in VOLUMES {
            self.remote.command(&["volume", "create", volume, "--size", VOLUME_SIZE])?;
            urls.push(self.remote.publish(volume)?);
        }
        let mut writers = Writers::new(&urls, options.seed, self.interruption.clone())?.verify()?;
        let mut copies = Copies::new(VOLUMES[0], ALL_BLOCKS);
        println!("  ready after {}", text::duration::measured(started.elapsed()));

        let (cycles_started, mut cut_starts) = (Instant::now(), 0);
        for cycle in 1..=options.cycles {
            let cycle_started = Instant::now();
            let wait = Duration::from_millis(RUN_MS.start + random.below(RUN_MS.end - RUN_MS.start));
            let copy = (cycle % COPY_CYCLES == 1).then(|| random.below(2) == 0);
            writers = self.run_and_cut(machine, writers, wait, copy.map(|read| (&mut copies, read)))?;
            let cut = cycle_started.elapsed();
            if cycle % CHECK_CYCLES == 0 {
                self.pool_check(cycle)?;
                *tally += Tally::one(true);
            }
            if random.below(CUT_STARTS) == 0 {
                self.cut_a_start(Duration::from_millis(random.below(START_MS)))
                    .with_context(|| format!("at a start that was cut, after cut {cycle}"))?;
                cut_starts += 1;
            }
            let booting = Instant::now();
            machine = self.start("serve").with_context(|| format!("after cut {cycle}"))?;
            let booted = booting.elapsed();
            writers = self.verify(&mut machine, writers, &mut copies).with_context(|| format!("after cut {cycle}"))?;
            *tally += Tally::one(true);
            println!(
                "  cut {cycle:3}: loads ran and died in {}, up again in {}, everything verified in {}",
                text::duration::measured(cut),
                text::duration::measured(booted),
                text::duration::measured(booting.elapsed() - booted),
            );
        }
        let elapsed = cycles_started.elapsed();
        writers = self.run_and_cut(machine, writers, Duration::from_millis(RUN_MS.start), None)?;
        self.pool_check(options.cycles + 1)?;
        *tally += Tally::one(true);
        println!(
            "{} cuts in {}, {} a cycle; {cut_starts} more cuts during a start; slowest start {}",
            options.cycles,
            text::duration::measured(elapsed),
            text::duration::measured(elapsed / options.cycles.max(1)),
            text::duration::measured(self.slowest_start)
        );
        let (made, compared) = copies.counts();
        println!("{made} snapshots with a clone, compared {compared} times");
        writers.reports().zip(1..).for_each(|(report, writer)| println!("writer {writer}: {report}"));
        Ok(())
    }

    /// Boots, and waits until the array is up.
    fn start(&mut self, task: &str) -> Result<Machine> {
        let started = Instant::now();
        let mut machine = self.rack.boot(&format!("task={task} {}", self.parameters))?;
        machine.wait_for("serve: ready ", BOOT_LIMIT)?;
        self.slowest_start = self.slowest_start.max(started.elapsed());
        Ok(machine)
    }

    /// Boots, and cuts the power `after` the array has begun to start.
    fn cut_a_start(&mut self, after: Duration) -> Result<()> {
        let mut machine = self.rack.boot(&format!("task=serve {}", self.parameters))?;
        machine.wait_for("starting", BOOT_LIMIT)?;
        thread::sleep(after);
        machine.check()?;
        self.cut(machine)
    }

    /// Lets the loads run for at least `wait`, creates a copy meanwhile if requested, and cuts the
    /// power.
    fn run_and_cut(
        &mut self,
        mut machine: Machine,
        writers: Writers,
        wait: Duration,
        copy: Option<(&mut Copies, bool)>,
    ) -> Result<Writers> {
        let outages = writers.outages();
        let running = writers.start();
        let started = Instant::now();
        let mut copy = copy;
        while started.elapsed() < wait {
            thread::sleep(Duration::from_millis(5));
            machine.check()?;
            if running.ended() {
                running.stop()?;
                bail!("a load ended by itself");
            }
            if started.elapsed() > wait / 2
                && let Some((copies, read)) = copy.take()
            {
                copies.make(&self.remote, read)?;
            }
        }
        machine.check()?;
        self.cut(machine)?;
        let writers = running.stop()?;
        let more = writers.outages().iter().zip(&outages).all(|(now, before)| *now <= before + 1);
        ensure!(more, "a load has lost its connection although nothing was cut");
        Ok(writers)
    }

    /// Cuts the power when the disk has writes to lose, unless that takes too long.
    fn cut(&self, machine: Machine) -> Result<()> {
        let Some(server) = &self.server else { return machine.cut() };
        server.stop(STOP_LIMIT);
        machine.cut()?;
        server.cut(CUT_LIMIT)
    }

    /// Compares all content with its expectation.
    fn verify(&self, machine: &mut Machine, writers: Writers, copies: &mut Copies) -> Result<Writers> {
        let verified = writers.verify().and_then(|writers| {
            copies.verify(&self.remote, &VOLUMES)?;
            Ok(writers)
        });
        // A guest that has failed explains the other failure.
        machine.check()?;
        verified
    }

    /// Runs `windlass pool check` on the pool as the cut left it.
    fn pool_check(&self, cycle: u32) -> Result<()> {
        match self.pool {
            PoolForm::Device => {
                let file = self.disk.to_str().context("the path of the disk is not UTF-8")?;
                let finished = program::require(&self.windlass, &["pool", "check", file], CHECK_LIMIT);
                finished.map(drop).with_context(|| format!("pool check after cut {cycle}"))
            }
            PoolForm::File => {
                let mut machine = self.rack.boot(&format!("task=check {}", self.parameters))?;
                let status = machine.wait_for("check ended with status ", BOOT_LIMIT + CHECK_LIMIT)?;
                ensure!(
                    status == "0",
                    "pool check after cut {cycle} ended with status {status}\n{}",
                    machine.log_end()
                );
                self.cut(machine)
            }
        }
    }
}
