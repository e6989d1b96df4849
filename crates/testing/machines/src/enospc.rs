//! `cargo xtask enospc`: a pool fills up under a virtual machine that writes, and the machine loses
//! no data.
//!
//! A QEMU guest, whose disk is a logical unit that QEMU accesses itself (`iscsi://`,
//! `werror=enospc`), fills an ext4 with files whose checksums it keeps in memory. The pool is too
//! small for them. It has to become full; QEMU has to receive DATA PROTECT, 27h/07h, and pause the
//! guest, which notices nothing. Then the pool grows and the guest continues; at the end its file
//! system has to be clean and every file correct. Meanwhile a second host shows which commands a
//! full pool still executes: it overwrites, and compares-and-writes, a lock of its own. The guest
//! is that of `cargo xtask power-cut`.

mod qmp;

use crate::power_cut::{DiskSource, Guest, Interruption, Machine, Rack};
use crate::qemu::Accelerator;
use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::program;
use clap::Args;
use conformance::commands::{CommandError, Compared};
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use qmp::Qmp;
use std::path::Path;
use std::time::{Duration, Instant};

/// The first process of the guest.
const INIT: &str = include_str!("enospc/init");
/// Sizes of the pool, before and after growth, and of the logical unit.
const POOL_SIZE: &str = "256M";
const POOL_SIZE_THEN: &str = "1G";
const VOLUME_SIZE: &str = "1G";
/// Files of 8 MiB that the guest writes: one and a half times the pool's size.
const FILES: u32 = 48;
/// Time limits from the start of the guest until the pool is full, and from there to the end.
/// Emulation on a busy machine is slow.
const FILL_LIMIT: Duration = Duration::from_secs(300);
const END_LIMIT: Duration = Duration::from_secs(300);
/// Time for which the paused guest is observed: it must stay paused, and the array must serve
/// commands that need no space.
const PAUSE: Duration = Duration::from_secs(2);

/// Notes for the help.
pub const NOTES: &str = "Needs Debian on x86-64; missing packages are installed with apt-get (scripts/need enospc). Where there is no KVM the guest is emulated, \
which takes minutes. It is no part of `cargo xtask ci`.";

/// Options of the run.
#[derive(Args, Clone)]
pub struct Options {
    /// Virtualisation of the guest's processor.
    #[arg(long, value_enum, default_value_t = Accelerator::Auto)]
    accelerator: Accelerator,
}

/// Fills, grows and verifies; one check for each step.
pub fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let interruption = Interruption::watch()?;
    workspace::need("enospc")?;
    let cache = workspace::target().join("power-cut");
    std::fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let directory = tempfile::Builder::new().prefix("enospc-").tempdir_in(&cache)?;
    let place = directory.path().canonicalize()?;
    let programs = ["mke2fs", "e2fsck"].map(|name| (name, program::find(name)));
    let mut found = Vec::new();
    for (name, path) in &programs {
        found.push((*name, path.as_deref().with_context(|| format!("{name} is not installed"))?));
    }
    let guest = Guest::of(INIT, &found, &cache.canonicalize()?, &place)?;
    let array = Array::start(ArrayOptions {
        executable: windlass.canonicalize()?,
        state_directory: place.join("array"),
        portals: vec![free_portal()?],
        pool_size: POOL_SIZE.into(),
        arguments: Vec::new(),
    })?;
    let mut bench = Bench { array, steps: 0 };
    let result = bench.carry_out(guest, options.accelerator, &place, &interruption);
    let mut tally = Tally { passed: bench.steps, failed: 0 };
    match result {
        Ok(()) => bench.array.stop()?,
        Err(_) if interruption.check().is_err() => bail!("interrupted; the guest and its array are gone"),
        Err(error) => {
            println!("  {error:#}\n  the array's log ends:\n{}", bench.array.log_end());
            println!("  pool and console are kept in {}", directory.keep().display());
            tally.failed += 1;
        }
    }
    Ok(tally)
}

/// Array under test, with the number of steps that have succeeded.
struct Bench {
    array: Array,
    steps: usize,
}

impl Bench {
    fn carry_out(
        &mut self,
        guest: Guest,
        accelerator: Accelerator,
        place: &Path,
        interruption: &Interruption,
    ) -> Result<()> {
        let disk = self.array.create_volume("guest", VOLUME_SIZE)?;
        let mut lock = Lock::make(&self.array)?;
        self.array.command(&["snapshot", "create", "lock", "before"])?;
        let socket = place.join("qmp");
        let mut rack = Rack {
            guest,
            accelerator,
            disk: DiskSource::Iscsi(disk.url().to_owned()),
            forwards: Vec::new(),
            monitor: Some(socket.clone()),
            directory: place.to_path_buf(),
            interruption: interruption.clone(),
        };
        rack.choose_accelerator()?;
        println!(
            "  a guest ({}) writes {} MiB to a pool of {POOL_SIZE}, through QEMU's own initiator with werror=enospc",
            rack.accelerator.words(),
            FILES * 8
        );
        let started = Instant::now();
        let mut machine = rack.boot(&format!("task=fill files={FILES}"))?;
        let mut monitor = Qmp::connect(&socket, Duration::from_secs(20))?;
        machine.wait_for("filling", FILL_LIMIT)?;

        let error = monitor.wait_for("BLOCK_IO_ERROR", FILL_LIMIT, || machine.check())?;
        let data = error.get("data").cloned().unwrap_or_default();
        let is = |field: &str, value: serde_json::Value| data.get(field) == Some(&value);
        ensure!(
            is("nospace", true.into()) && is("action", "stop".into()) && is("operation", "write".into()),
            "QEMU saw another error: {error}"
        );
        self.step(&format!(
            "after {} QEMU reports BLOCK_IO_ERROR, operation write, action stop, nospace true",
            text::duration::measured(started.elapsed())
        ));
        monitor.wait_for("STOP", FILL_LIMIT, || machine.check())?;
        let status = monitor.status()?;
        ensure!(status == "io-error", "the guest is {status}, not paused for an I/O error");
        self.step("the guest is paused: STOP, run state io-error");

        let paused = Instant::now();
        let mut locks = 0;
        let mut host = lock.log_in()?;
        while paused.elapsed() < PAUSE {
            interruption.check()?;
            lock.take(&mut host).context("in the full pool")?;
            locks += 1;
        }
        ensure!(monitor.status()? == "io-error", "the guest did not stay paused");
        self.step(&format!("{locks} COMPARE AND WRITE of a lock that a snapshot shares go on in the full pool"));
        Lock::assert_writes_refused(&mut host)?;
        host.logout()?;
        self.step("a write of something new is refused with DATA PROTECT, 27h/07h");

        self.array.command(&["pool", "grow", "p0", "--size", POOL_SIZE_THEN])?;
        monitor.execute("cont")?;
        let resumed = Instant::now();
        let verified = Self::until_verified(&mut machine)?;
        self.step(&format!(
            "the pool grows to {POOL_SIZE_THEN}, the guest continues; {} later: e2fsck: {}",
            text::duration::measured(resumed.elapsed()),
            verified.0
        ));
        self.step(&format!("sha256sum of what the guest wrote: verified{}", verified.1));
        let mut host = lock.log_in()?;
        lock.take(&mut host)?;
        host.logout()?;
        drop(machine);
        self.array.command(&["pool", "check", "p0"])?;
        self.step("pool check finds nothing");
        Ok(())
    }

    fn until_verified(machine: &mut Machine) -> Result<(String, String)> {
        let checked = machine.wait_for("checked ", END_LIMIT)?;
        let verified = machine.wait_for("verified", END_LIMIT)?;
        Ok((checked, verified))
    }

    fn step(&mut self, words: &str) {
        println!("  {words}");
        self.steps += 1;
    }
}

/// Lock on a volume of its own, as a second host uses one.
struct Lock {
    url: Url,
    round: u8,
}

impl Lock {
    fn make(array: &Array) -> Result<Self> {
        let volume = array.create_volume("lock", "64M")?;
        let lock = Self { url: volume.url().parse()?, round: 1 };
        let mut session = lock.log_in()?;
        session.write16(0, block(1))?;
        session.logout()?;
        Ok(lock)
    }

    /// Opens a session for one step only: it does not answer the array's pings while the guest
    /// works.
    fn log_in(&self) -> Result<Session> {
        let mut session = Session::connect(&self.url, &SessionOptions::default())?;
        session.clear_unit_attentions()?;
        Ok(session)
    }

    /// Compares the lock with its value and writes the next one.
    fn take(&mut self, session: &mut Session) -> Result<()> {
        let next = self.round.checked_add(1).unwrap_or(1);
        let mut tries = 0;
        loop {
            match session.compare_and_write(0, &block(self.round), &block(next)) {
                Ok(Compared::Written) => break,
                Ok(other) => bail!("the lock is not what it was: {other:?}"),
                // Unit attention for a threshold of the pool, reported once.
                Err(CommandError::Status { sense: Some(sense), .. }) if sense.key == 6 && tries < 4 => tries += 1,
                Err(error) => return Err(error).context("COMPARE AND WRITE failed"),
            }
        }
        self.round = next;
        Ok(())
    }

    /// Checks that writes that need new space are refused. The write that stopped the guest may
    /// have been larger than the remaining space, so that space is used up first.
    fn assert_writes_refused(session: &mut Session) -> Result<()> {
        session.clear_unit_attentions()?;
        for piece in 1..=LEFT_PIECES {
            match session.write16(piece * PIECE_BLOCKS, block(7).repeat(PIECE_BLOCKS as usize).into()) {
                Ok(()) => {}
                Err(CommandError::Status { sense: Some(sense), .. })
                    if (sense.key, sense.code, sense.qualifier) == (7, 0x27, 7) =>
                {
                    return Ok(());
                }
                other => bail!("a write of new content in the full pool: {other:?}"),
            }
        }
        bail!("{LEFT_PIECES} writes of new content of 1 MiB in the full pool: GOOD")
    }
}

/// Logical blocks in 1 MiB.
const PIECE_BLOCKS: u64 = 2048;
/// Most space in MiB that a pool may still have after it refused a guest's write.
const LEFT_PIECES: u64 = 8;

/// Logical block with content other than zeros.
fn block(byte: u8) -> bytes::Bytes {
    vec![byte; 512].into()
}
