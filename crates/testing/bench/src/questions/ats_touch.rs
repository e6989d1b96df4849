//! What do the locks of one host cost the reads of another? Host A reads 4 KiB blocks in sequence,
//! one outstanding. Host B touches a file without pause: it takes the file's lock, writes 4 KiB of
//! metadata, and releases the lock. With SCSI reservations (RESERVE (6) and RELEASE (6), SPC-2
//! §7.20 and §7.18) the lock is a block that is written while B has reserved the whole logical
//! unit, and A gets RESERVATION CONFLICT; A retries at once, which is the best case for
//! reservations. With COMPARE AND WRITE (VMware's ATS) only the lock's block is affected. The pool
//! is in memory; both ways, and A alone, run in turn.
//!
//! Reads per second: higher is better. Conflicts per second: lower is better. Small: 0.3 s each.
//! Large: as requested.

use super::MIB;
use crate::Options;
use crate::command::{self, Command};
use crate::data::{self, BLOCK_BYTES, LOGICAL_BLOCKS};
use crate::load::Load;
use crate::report::Report;
use crate::session::Session;
use crate::targets::{Windlass, memory_directory};
use anyhow::{Context, Result, anyhow, ensure};
use array_process::observe;
use bytes::Bytes;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const ASKS: &str =
    "reads of one host while another touches a file, with SCSI reservations and with COMPARE AND WRITE";

/// SCSI status (SAM-5 §5.3.1).
const GOOD: u8 = 0x00;
const RESERVATION_CONFLICT: u8 = 0x18;
/// Addresses of the lock and of the metadata that it protects; the reads go elsewhere.
const LOCK_LBA: u64 = 0;
const METADATA_LBA: u64 = 8;
const FIRST_READ_BLOCK: u64 = 16;

/// Locking of host B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locks {
    None,
    Reservations,
    CompareAndWrite,
}

const WAYS: [(Locks, &str); 3] = [
    (Locks::None, "read 4k, no locks"),
    (Locks::Reservations, "read 4k, reservations"),
    (Locks::CompareAndWrite, "read 4k, ats"),
];

/// Results of host A.
struct Reads {
    load: Load,
    conflicts: u64,
}

/// Results of host B.
#[derive(Clone, Copy, Debug, Default)]
struct Touches {
    done: u64,
    /// Commands of host B that got RESERVATION CONFLICT: only its RESERVE may.
    conflicts: u64,
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let size_bytes = 64 * MIB;
    let array = Windlass::start(windlass, &memory_directory()?, "1G")?;
    let volume = array.array.create_volume("bench", &size_bytes.to_string())?;
    let (url, pid) = (volume.url(), array.array.pid());
    data::fill(&mut Session::connect(url)?, pid, size_bytes)?;
    let mut conflicts = [0, 0, 0];
    let mut touches = [0, 0, 0];
    let mut seconds = [0.0, 0.0, 0.0];
    for _ in 0..options.repetitions() {
        for (index, (locks, name)) in WAYS.into_iter().enumerate() {
            let (reads, touched) = both(url, pid, locks, options.time(), size_bytes / BLOCK_BYTES)?;
            ensure!(locks == Locks::None || touched.done > 0, "host B did not get to touch anything");
            conflicts[index] += reads.conflicts + touched.conflicts;
            touches[index] += touched.done;
            seconds[index] += reads.load.elapsed.as_secs_f64();
            report.load(name, "windlass", reads.load);
        }
    }
    for (index, (_, name)) in WAYS.into_iter().enumerate().skip(1) {
        let each = |count: u64| crate::report::short(count as f64 / seconds[index].max(1e-9));
        report.fact(format!(
            "{name}: {} RESERVATION CONFLICT a second, {} touches a second",
            each(conflicts[index]),
            each(touches[index])
        ));
    }
    let rate = |report: &Report, way: usize| {
        report.row(WAYS[way].1, "windlass").map(|row| row.median(Load::rate).median).unwrap_or(f64::NAN)
    };
    let (alone, reserved, ats) = (rate(report, 0), rate(report, 1), rate(report, 2));
    report.fact(format!(
        "reads of host A, of what it does alone: {:.0} % with reservations, {:.0} % with COMPARE AND WRITE",
        100.0 * reserved / alone,
        100.0 * ats / alone
    ));
    report.at_most("RESERVATION CONFLICT with COMPARE AND WRITE", conflicts[2] as f64, 0.0, "in all");
    report.at_least(
        "reads of host A with COMPARE AND WRITE",
        ats / reserved.max(1e-9),
        1.2,
        "× those with reservations",
    );
    Ok(())
}

/// Runs both hosts concurrently for `time`.
fn both(url: &str, pid: u32, locks: Locks, time: Duration, blocks: u64) -> Result<(Reads, Touches)> {
    let stop = AtomicBool::new(false);
    // Before the other host reserves, because a login is followed by TEST UNIT READY.
    let mut session = Session::connect(url).context("host A")?;
    thread::scope(|scope| {
        let other = (locks != Locks::None).then(|| scope.spawn(|| touch(url, locks, &stop)));
        let reads = read(&mut session, pid, time, blocks);
        stop.store(true, Ordering::Relaxed);
        let touched = match other {
            Some(other) => other.join().map_err(|_| anyhow!("host B panicked"))?.context("host B")?,
            None => Touches::default(),
        };
        Ok((reads.context("host A")?, touched))
    })
}

/// Runs host A.
fn read(session: &mut Session, pid: u32, time: Duration, blocks: u64) -> Result<Reads> {
    let mut reads = Reads { load: Load::default(), conflicts: 0 };
    let cpu_before = observe::processor_time(pid)?.total();
    let (sent, received) = session.wire_bytes();
    let started = Instant::now();
    let mut number = FIRST_READ_BLOCK;
    while started.elapsed() < time {
        let command = command::read(number * u64::from(LOGICAL_BLOCKS), LOGICAL_BLOCKS);
        let submitted = Instant::now();
        loop {
            let completion = session.execute(&command)?;
            if completion.status == RESERVATION_CONFLICT {
                reads.conflicts += 1;
                ensure!(
                    started.elapsed() < time * 2 + Duration::from_secs(10),
                    "it waits for a reservation without end"
                );
                continue;
            }
            completion.good()?;
            data::check(number, &completion.data)?;
            break;
        }
        reads.load.latencies.record(submitted.elapsed());
        reads.load.operations += 1;
        number = if number + 1 < blocks { number + 1 } else { FIRST_READ_BLOCK };
    }
    reads.load.elapsed = started.elapsed();
    reads.load.server_cpu = observe::processor_time(pid)?.total().saturating_sub(cpu_before);
    let (sent_after, received_after) = session.wire_bytes();
    (reads.load.sent_bytes, reads.load.received_bytes) = (sent_after - sent, received_after - received);
    Ok(reads)
}

/// Runs host B until `stop` is set. It leaves the logical unit without a reservation.
fn touch(url: &str, locks: Locks, stop: &AtomicBool) -> Result<Touches> {
    let mut session = Session::connect(url)?;
    let mut touches = Touches::default();
    let (free, held) = (image(0x46), image(0x48));
    session.execute(&command::write(LOCK_LBA, 1, free.clone()))?.good()?;
    while !stop.load(Ordering::Relaxed) {
        change(&mut session, locks, &free, &held, &mut touches)?;
        let stamp = data::block(touches.done).into();
        session.execute(&command::write(METADATA_LBA, LOGICAL_BLOCKS, stamp))?.good()?;
        change(&mut session, locks, &held, &free, &mut touches)?;
        touches.done += 1;
    }
    Ok(touches)
}

/// Changes the lock's block from one image to the other.
fn change(session: &mut Session, locks: Locks, from: &Bytes, to: &Bytes, touches: &mut Touches) -> Result<()> {
    match locks {
        Locks::None => Ok(()),
        Locks::CompareAndWrite => {
            let images = [from.as_ref(), to.as_ref()].concat();
            session.execute(&command::compare_and_write(LOCK_LBA, images.into()))?.good()
        }
        Locks::Reservations => {
            while session.execute(&reservation(0x16))?.status != GOOD {
                touches.conflicts += 1;
            }
            let found = session.execute(&command::read(LOCK_LBA, 1))?;
            found.good()?;
            ensure!(found.data == *from, "the lock is not what this host left");
            session.execute(&command::write(LOCK_LBA, 1, to.clone()))?.good()?;
            session.execute(&reservation(0x17))?.good()
        }
    }
}

/// RESERVE (6) or RELEASE (6) of the whole logical unit.
fn reservation(operation: u8) -> Command {
    let mut cdb = [0; 16];
    cdb[0] = operation;
    Command::without_data(cdb)
}

/// Image of a lock's block.
fn image(byte: u8) -> Bytes {
    vec![byte; 512].into()
}
