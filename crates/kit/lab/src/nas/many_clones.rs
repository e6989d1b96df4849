//! `nas-many-clones`: 512 clones of a template, while guests write and read other disks. Off, the host copies
//! the template; on, the clones share its blocks. What the guests notice is their latency; each is a host of its
//! own, and verifies what it reads.

use super::content::{self, BLOCK, Found, MIB};
use super::copy::copy;
use super::files::{Files, Method};
use super::findings::Findings;
use super::{Bench, NasError};
use crate::results::{Better, Goal, Paper, Unit};
use random::Random;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

pub(super) const TITLE: &str = "512 clones of a template are made while guests write and read other disks";

/// Clones of a run, and of one whose disks are below [`SMALL_BYTES`].
const CLONES: u64 = 512;
const FEW_CLONES: u64 = 16;
const SMALL_BYTES: u64 = 64 * MIB;
/// Copies by the host.
const COPIES: u64 = 4;
const GUESTS: u64 = 4;
/// Length of a guest's disk.
const GUEST_BYTES: u64 = MIB;
/// Pause of a guest between two operations.
const PAUSE: Duration = Duration::from_micros(200);
/// Time for which idle guests are measured, and the shortest time otherwise.
const TIME: Duration = Duration::from_millis(200);
/// Longest time for which the start of guests is waited for.
const START: Duration = Duration::from_secs(30);
/// Blocks that are compared in each clone, beside the first and the last one.
const SAMPLES: u64 = 4;

pub(super) fn paper() -> Paper {
    Paper {
        test: "P4, full file clone".into(),
        system: "EMC VNX for File, NFSv3, ESXi 5.0".into(),
        words: "The paper clones one disk of a powered-off machine, and does not report what other guests notice."
            .into(),
        figures: Vec::new(),
    }
}

pub(super) fn run(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    let files = bench.files();
    let template = "template";
    let bytes = (bench.size() / 8 / MIB * MIB).max(MIB);
    files.create(template)?;
    content::fill(bench, files, template, 0..bytes)?;
    files.sync(template)?;
    for guest in 0..GUESTS {
        files.create(&disk_of(guest))?;
        content::fill(bench, files, &disk_of(guest), 0..GUEST_BYTES)?;
        files.sync(&disk_of(guest))?;
    }
    let clones = if bench.size() < SMALL_BYTES { FEW_CLONES } else { CLONES };
    findings.note(format!("{clones} clones and {COPIES} copies of {bytes} bytes, beside {GUESTS} guests."));
    for _round in bench.rounds() {
        let ((), p99) = with_guests(bench, findings, || Ok(()))?;
        findings.others.entry("idle").or_default().seconds("guest_p99_seconds", p99);
        turn(bench, findings, Method::ReadWrite, COPIES, bytes)?;
        if findings.skipped.is_none() {
            match turn(bench, findings, Method::Clone, clones, bytes) {
                Err(error @ NasError::Unsupported { .. }) => findings.skipped = Some(error.to_string()),
                ended => ended?,
            }
        }
    }
    if findings.skipped.is_none() {
        findings.goal_faster(20.0);
        let idle = findings.others.get("idle").and_then(|idle| idle.median("guest_p99_seconds"));
        let measured = findings.on.median("guest_p99_seconds").zip(idle).map(|(on, idle)| on / idle.max(1e-9));
        let what = "p99 of the guests at most 2 × that of idle ones while clones are made".to_owned();
        findings.goals.push(Goal { what, measured, wanted: 2.0, reached: measured.is_some_and(|it| it <= 2.0) });
    }
    for guest in 0..GUESTS {
        files.remove(&disk_of(guest))?;
    }
    files.remove(template)
}

fn disk_of(guest: u64) -> String {
    format!("guest-{guest}")
}

/// Makes copies of the template beside the guests, verifies and removes them.
fn turn(bench: &Bench<'_>, findings: &mut Findings, method: Method, count: u64, bytes: u64) -> Result<(), NasError> {
    let files = bench.files();
    let name = |number: u64| format!("copy-{number}");
    let server_before = files.server_bytes();
    let made = with_guests(bench, findings, || {
        let mut times = Vec::new();
        for number in 0..count {
            bench.check_cancelled()?;
            times.push(copy(bench, method, "template", &name(number))?.as_secs_f64());
        }
        Ok(times)
    });
    let (mut times, guest_p99) = made?;
    let server = server_before.zip(files.server_bytes()).map(|(before, after)| after.saturating_sub(before));
    let (mut unshared, mut wrong_copies) = (Some(0), Vec::new());
    let random = Random::new(bytes);
    for number in 0..count {
        bench.check_cancelled()?;
        let wrong = wrong_block(bench, files, &name(number), bytes, &random)?;
        wrong_copies.extend(wrong.map(|wrong| format!("copy {number} differs: {wrong}")));
        unshared = unshared.zip(files.usage(&name(number))?.unshared).map(|(sum, more)| sum + more);
    }
    findings.check(wrong_copies.is_empty(), || {
        let first = wrong_copies.first().cloned().unwrap_or_default();
        format!("{}: {} of {count} copies are wrong; {first}", files.call_of(method), wrong_copies.len())
    });
    for number in 0..count {
        files.remove(&name(number))?;
    }
    let values = if method == Method::Clone { &mut findings.on } else { &mut findings.off };
    values.seconds("seconds", percentile(&mut times, 50));
    values.seconds("p99_seconds", percentile(&mut times, 99));
    values.seconds("guest_p99_seconds", guest_p99);
    values.add("copies", count as f64, Unit::Count, Better::Neither);
    if let Some(server) = server {
        values.bytes("server_bytes_per_copy", server / count, Better::Lower);
    }
    if let Some(unshared) = unshared {
        values.bytes("unshared_bytes", unshared, Better::Lower);
    }
    let who = if method == Method::Clone { "offloaded" } else { "read and written by this host" };
    values.moved_bytes = [(who.to_owned(), count * bytes)].into();
    let shares_nothing = method == Method::Clone && unshared.is_some_and(|unshared| unshared > 0);
    findings.check(!shares_nothing, || {
        format!("{count} fresh clones have {} bytes that they do not share", unshared.unwrap_or(0))
    });
    Ok(())
}

/// Describes a wrong block of a copy: of the first, the last, and some between.
fn wrong_block(
    bench: &Bench<'_>,
    files: &dyn Files,
    name: &str,
    bytes: u64,
    random: &Random,
) -> Result<Option<String>, NasError> {
    bench.check_cancelled()?;
    let size = files.size(name)?;
    if size != bytes {
        return Ok(Some(format!("it has {size} bytes, expected {bytes}")));
    }
    let blocks = bytes / BLOCK;
    let places = (0..SAMPLES).map(|_| random.below(blocks)).chain([0, blocks - 1]);
    for number in places {
        let found = content::inspect_block(files, name, number)?;
        if found != Found::Stamp(0) {
            return Ok(Some(format!("block {number} is {found:?}")));
        }
    }
    Ok(None)
}

/// Percentile of values, 0 without any.
fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0.0)
}

/// Runs `work` while guests write and read their disks; also returns the 99th percentile of their latency in
/// seconds. What a guest reads wrong is a failure of the case.
fn with_guests<T>(
    bench: &Bench<'_>,
    findings: &mut Findings,
    work: impl FnOnce() -> Result<T, NasError>,
) -> Result<(T, f64), NasError> {
    let done = AtomicBool::new(false);
    let (outcome, guests) = std::thread::scope(|scope| {
        let (ready, started) = channel();
        let running: Vec<std::thread::ScopedJoinHandle<'_, Result<Guest, NasError>>> = (0..GUESTS)
            .map(|guest| {
                let (another, ready, done) = (bench.files().another(), ready.clone(), &done);
                scope.spawn(move || {
                    let files = another()?;
                    let found = run_guest(guest, &*files, ready, done)?;
                    files.close()?;
                    Ok(found)
                })
            })
            .collect();
        drop(ready);
        for _ in 0..GUESTS {
            // A guest that failed has hung up; its error follows.
            if started.recv_timeout(START).is_err() {
                break;
            }
        }
        let began = Instant::now();
        let outcome = work();
        std::thread::sleep(TIME.saturating_sub(began.elapsed()));
        done.store(true, Ordering::Release);
        let joined: Vec<_> = running
            .into_iter()
            // A panic of a guest's thread is passed on.
            .map(|guest| guest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        (outcome, joined)
    });
    let mut latencies = Vec::new();
    for guest in guests {
        let guest: Guest = guest?;
        latencies.extend(guest.latencies);
        findings.failures.extend(guest.wrong);
    }
    outcome.map(|outcome| (outcome, percentile(&mut latencies, 99)))
}

/// What a guest has found.
struct Guest {
    /// Seconds of each operation.
    latencies: Vec<f64>,
    /// The first wrong block that it read.
    wrong: Option<String>,
}

/// Writes a block and reads another one, until `done`. The disk then has its first content again.
fn run_guest(guest: u64, files: &dyn Files, ready: Sender<()>, done: &AtomicBool) -> Result<Guest, NasError> {
    let (name, blocks) = (disk_of(guest), GUEST_BYTES / BLOCK);
    let random = Random::new(guest);
    let mut stamps = vec![0_u64; usize::try_from(blocks).unwrap_or(0)];
    let mut found = Guest { latencies: Vec::new(), wrong: None };
    // Nobody waits any more if another guest has failed.
    let _waits = ready.send(());
    drop(ready);
    for stamp in 1.. {
        if done.load(Ordering::Acquire) {
            break;
        }
        let (to, from) = (random.below(blocks), random.below(blocks));
        let data = content::block(to, stamp);
        let began = Instant::now();
        files.write(&name, to * BLOCK, &data)?;
        found.latencies.push(began.elapsed().as_secs_f64());
        if let Some(last) = usize::try_from(to).ok().and_then(|to| stamps.get_mut(to)) {
            *last = stamp;
        }
        let began = Instant::now();
        let read = content::inspect_block(files, &name, from)?;
        found.latencies.push(began.elapsed().as_secs_f64());
        let expected = usize::try_from(from).ok().and_then(|from| stamps.get(from)).copied().unwrap_or(0);
        if read != Found::Stamp(expected) && found.wrong.is_none() {
            found.wrong = Some(format!("guest {guest} reads {read:?} from block {from}, and wrote stamp {expected}"));
        }
        std::thread::sleep(PAUSE);
    }
    for (number, stamp) in (0..).zip(&stamps) {
        if *stamp > 0 {
            files.write(&name, number * BLOCK, &content::block(number, 0))?;
        }
    }
    files.sync(&name)?;
    Ok(found)
}
