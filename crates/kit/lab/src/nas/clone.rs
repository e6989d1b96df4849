//! `nas-clone`: a disk is a file, and its clone another one. Off, the host reads and writes it; on,
//! the file system shares its extents (FICLONE, CLONE). Also measured is copy_file_range or COPY, for
//! which the file system chooses the method. Then two things that the paper's system could not do: a source
//! that is being written, and one with snapshots.

use super::content::{self, BLOCK, Found};
use super::copy::copy;
use super::files::Method;
use super::findings::{Findings, Values};
use super::{Bench, NasError};
use crate::results::{Better, Paper, PaperFigure, Unit};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(super) const TITLE: &str = "A disk on a file server is cloned: at rest, while it is written, and with snapshots";

/// Pause between two writes of the guest on the source.
const GUEST_PAUSE: Duration = Duration::from_micros(200);
/// Shortest time for which the guest writes during a copy.
const GUEST_TIME: Duration = Duration::from_millis(100);
/// Longest time for which the start of a guest is waited for.
const GUEST_START: Duration = Duration::from_secs(30);
/// Number of snapshots of the source.
const SNAPSHOTS: usize = 3;

pub(super) fn paper() -> Paper {
    Paper {
        test: "P4, full file clone".into(),
        system: "EMC VNX for File, NFSv3, ESXi 5.0".into(),
        words: "A powered-off VM's disk on NFS is cloned in 15:08 instead of 19:03, with 99 % less on the network; vaaiFullClone takes 30 693 µs. The source \
                must be off and must have no snapshots."
            .into(),
        figures: vec![
            PaperFigure { measure: "seconds".into(), unit: Unit::Seconds, off: Some(1143.0), on: Some(908.0), ratio: None },
            PaperFigure { measure: "server_bytes".into(), unit: Unit::Bytes, off: None, on: None, ratio: Some(0.01) },
        ],
    }
}

pub(super) fn run(bench: &Bench<'_>, findings: &mut Findings) -> Result<(), NasError> {
    let source = "source";
    content::create(bench, source)?;
    findings.goals.clear();
    for round in bench.rounds() {
        for method in turns(round) {
            bench.check_cancelled()?;
            if let Err(error) = once(bench, findings, method, source) {
                missing(findings, method, error)?;
            }
        }
    }
    if findings.skipped.is_none() {
        findings.goal_faster(20.0);
    }
    busy(bench, findings, source)?;
    snapshots(bench, findings, source)
}

/// Order of the methods, so that none is always first.
fn turns(round: u32) -> [Method; 3] {
    match round % 2 {
        1 => [Method::ReadWrite, Method::Clone, Method::CopyRange],
        _ => [Method::CopyRange, Method::Clone, Method::ReadWrite],
    }
}

/// Values of a method.
fn side(findings: &mut Findings, method: Method) -> &mut Values {
    match method {
        Method::ReadWrite => &mut findings.off,
        Method::Clone => &mut findings.on,
        Method::CopyRange => findings.others.entry("copy_file_range").or_default(),
    }
}

/// Records a call that the file system lacks; this is no failure, and the rest of the case
/// continues without it.
fn missing(findings: &mut Findings, method: Method, error: NasError) -> Result<(), NasError> {
    match (method, error) {
        (Method::Clone, error @ NasError::Unsupported { .. }) => findings.skipped = Some(error.to_string()),
        (_, error @ NasError::Unsupported { .. }) => findings.note(error.to_string()),
        (_, error) => return Err(error),
    }
    Ok(())
}

/// Copies the source once while it is at rest.
fn once(bench: &Bench<'_>, findings: &mut Findings, method: Method, source: &str) -> Result<(), NasError> {
    let (files, to) = (bench.files(), "copy");
    files.forget(source);
    let room = || files.room().map(|room| room.unused);
    let (before, server_before) = (room(), files.server_bytes());
    let time = copy(bench, method, source, to)?;
    let server = server_before.zip(files.server_bytes()).map(|(before, after)| after.saturating_sub(before));
    let consumed = before.zip(room()).map(|(before, after)| before.saturating_sub(after));
    let size = bench.size();
    let values = side(findings, method);
    values.seconds("seconds", time.as_secs_f64());
    if let Some(consumed) = consumed {
        values.bytes("consumed_bytes", consumed, Better::Lower);
    }
    if let Some(server) = server {
        values.bytes("server_bytes", server, Better::Lower);
    }
    // copy_file_range does not report what it did; a copy that took no space was offloaded.
    let who = match (method, consumed) {
        (Method::ReadWrite, _) => "read and written by this host",
        (Method::Clone, _) => "offloaded",
        (Method::CopyRange, Some(consumed)) if consumed < size / 10 => "offloaded",
        (Method::CopyRange, _) if server.is_some_and(|bytes| bytes < size / 10) => "offloaded",
        (Method::CopyRange, _) => "copied by this host's kernel",
    };
    values.moved_bytes = [(who.to_owned(), size)].into();
    let wrong = content::verify(bench, files, to, |_| Found::Stamp(0))?;
    let call = files.call_of(method);
    findings.check(wrong.is_none(), || format!("{call}: the copy differs: {}", wrong.unwrap_or_default()));
    files.remove(to)
}

/// The guest on the source: writes each block in turn in a scattered order, with a stamp one higher
/// than that of the write before.
#[derive(Clone, Copy)]
struct Guest {
    blocks: u64,
    stride: u64,
}

impl Guest {
    fn new(blocks: u64) -> Self {
        // A stride coprime to the number of blocks reaches all of them.
        let stride = [1_000_003, 999_983, 1]
            .into_iter()
            .find(|stride| *stride == 1 || !blocks.is_multiple_of(*stride))
            .unwrap_or(1);
        Self { blocks, stride }
    }

    /// Block of the write with this stamp; stamps begin at 1.
    fn place(self, stamp: u64) -> u64 {
        (u128::from(stamp - 1) * u128::from(self.stride) % u128::from(self.blocks)).try_into().unwrap_or(0)
    }

    /// Stamps of all blocks after the write of stamp `last`.
    fn after(self, last: u64) -> Vec<u64> {
        let mut stamps = vec![0; usize::try_from(self.blocks).unwrap_or(0)];
        for stamp in last.saturating_sub(self.blocks) + 1..=last {
            if let Some(block) = usize::try_from(self.place(stamp)).ok().and_then(|place| stamps.get_mut(place)) {
                *block = stamp;
            }
        }
        stamps
    }

    /// Number of blocks of a copy that do not match the instant of its last write; 0 when the copy
    /// shows the disk at one instant.
    fn of_other_instants(self, found: &[Found]) -> u64 {
        let stamp = |found: &Found| if let Found::Stamp(stamp) = found { *stamp } else { 0 };
        let expected = self.after(found.iter().map(stamp).max().unwrap_or(0));
        expected.iter().zip(found).filter(|(expected, found)| **found != Found::Stamp(**expected)).count() as u64
    }
}

/// Copies while a guest writes. A clone must show the disk at one instant; a host's copy does not.
fn busy(bench: &Bench<'_>, findings: &mut Findings, source: &str) -> Result<(), NasError> {
    let guest = Guest::new(bench.size() / BLOCK);
    let mut stamp = 0;
    for round in bench.rounds() {
        let idle = with_guest(bench, guest, &mut stamp, source, || Ok(()))?;
        findings.others.entry("idle").or_default().seconds("guest_p99_seconds", idle.1);
        for method in turns(round) {
            bench.check_cancelled()?;
            if method == Method::Clone && findings.skipped.is_some() {
                continue;
            }
            let to = "busy-copy";
            let copied = with_guest(bench, guest, &mut stamp, source, || copy(bench, method, source, to));
            let (time, p99) = match copied {
                Ok(done) => done,
                Err(error) => {
                    missing(findings, method, error)?;
                    continue;
                }
            };
            let found = content::inspect(bench, bench.files(), to)?;
            let others = guest.of_other_instants(&found);
            let values = side(findings, method);
            values.seconds("busy_seconds", time.as_secs_f64());
            values.seconds("guest_p99_seconds", p99);
            values.add("blocks_of_other_moments", others as f64, Unit::Count, Better::Lower);
            let what = || {
                format!(
                    "round {round}: {others} blocks of the clone of a source that was being written are of another instant"
                )
            };
            findings.check(method != Method::Clone || others == 0, what);
            bench.files().remove(to)?;
        }
    }
    let expected = guest.after(stamp);
    let of = |number: u64| {
        Found::Stamp(usize::try_from(number).ok().and_then(|number| expected.get(number).copied()).unwrap_or(0))
    };
    let wrong = content::verify(bench, bench.files(), source, of)?;
    findings.check(wrong.is_none(), || {
        format!("the source differs from what its guest wrote: {}", wrong.unwrap_or_default())
    });
    Ok(())
}

/// Runs `work` while a guest writes; also returns the 99th percentile of the guest's latency in
/// seconds.
fn with_guest<T>(
    bench: &Bench<'_>,
    guest: Guest,
    stamp: &mut u64,
    source: &str,
    work: impl FnOnce() -> Result<T, NasError>,
) -> Result<(T, f64), NasError> {
    let done = AtomicBool::new(false);
    let latencies = Mutex::new(Vec::new());
    let (first, another) = (*stamp, bench.files().another());
    let (outcome, written) = std::thread::scope(|scope| {
        let (done, latencies) = (&done, &latencies);
        let (ready, started) = std::sync::mpsc::channel();
        let guest = scope.spawn(move || -> Result<u64, NasError> {
            let mut stamp = first;
            let files = another();
            // The work begins when the guest can write, or has failed.
            drop(ready);
            let files = files?;
            while !done.load(Ordering::Acquire) {
                let place = guest.place(stamp + 1);
                let data = content::block(place, stamp + 1);
                let began = Instant::now();
                files.write(source, place * BLOCK, &data)?;
                stamp += 1;
                if let Ok(mut latencies) = latencies.lock() {
                    latencies.push(began.elapsed().as_secs_f64());
                }
                std::thread::sleep(GUEST_PAUSE);
            }
            files.sync(source)?;
            files.close()?;
            Ok(stamp)
        });
        let _disconnected = started.recv_timeout(GUEST_START) as Result<(), _>;
        let began = Instant::now();
        let outcome = work();
        std::thread::sleep(GUEST_TIME.saturating_sub(began.elapsed()));
        done.store(true, Ordering::Release);
        (outcome, guest.join())
    });
    // A panic of the guest's thread is passed on.
    let written = written.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    *stamp = written?;
    let mut latencies = latencies.into_inner().unwrap_or_default();
    latencies.sort_by(f64::total_cmp);
    let p99 = latencies.get(latencies.len().saturating_sub(1) * 99 / 100).copied().unwrap_or(0.0);
    outcome.map(|outcome| (outcome, p99))
}

/// Clones a source with snapshots, each followed by writes; the snapshots must stay unchanged.
fn snapshots(bench: &Bench<'_>, findings: &mut Findings, source: &str) -> Result<(), NasError> {
    if findings.skipped.is_some() {
        let call = bench.files().call_of(Method::Clone);
        findings.note(format!("Snapshots are clones too: without {call} none can be created."));
        return Ok(());
    }
    // Starts from known content, because the busy part has left stamps behind.
    let files = bench.files();
    content::fill(bench, files, source, 0..bench.size())?;
    files.sync(source)?;
    let blocks = bench.size() / BLOCK;
    // Snapshot n is followed by writes to every block whose number is n + 1 modulo 8.
    let of = |snapshots: u64| {
        move |number: u64| match number % 8 {
            rest if (1..=snapshots).contains(&rest) => Found::Stamp(rest),
            _ => Found::Stamp(0),
        }
    };
    let mut kept = Vec::new();
    for snapshot in 0..SNAPSHOTS {
        let to = format!("snapshot-{snapshot}");
        copy(bench, Method::Clone, source, &to)?;
        kept.push(to);
        let stamp = snapshot as u64 + 1;
        for number in (stamp..blocks).step_by(8) {
            bench.check_cancelled()?;
            files.write(source, number * BLOCK, &content::block(number, stamp))?;
        }
    }
    files.sync(source)?;
    for round in bench.rounds() {
        for method in turns(round) {
            let to = "copy-of-many";
            let time = match copy(bench, method, source, to) {
                Ok(done) => done,
                Err(error) => {
                    missing(findings, method, error)?;
                    continue;
                }
            };
            side(findings, method).seconds("with_snapshots_seconds", time.as_secs_f64());
            let wrong = content::verify(bench, files, to, of(SNAPSHOTS as u64))?;
            let call = files.call_of(method);
            findings.check(wrong.is_none(), || {
                format!("{call} of a source with snapshots differs: {}", wrong.unwrap_or_default())
            });
            files.remove(to)?;
        }
    }
    for (name, before) in kept.iter().zip(0..) {
        let wrong = content::verify(bench, files, name, of(before))?;
        findings.check(wrong.is_none(), || format!("snapshot {before} has changed: {}", wrong.unwrap_or_default()));
        files.remove(name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_one_instant_differs_from_one_of_many() {
        let guest = Guest::new(16);
        let places: std::collections::BTreeSet<u64> = (1..=16).map(|stamp| guest.place(stamp)).collect();
        assert_eq!(places.len(), 16);
        let found = |last| guest.after(last).into_iter().map(Found::Stamp).collect::<Vec<_>>();
        assert_eq!(guest.of_other_instants(&found(0)), 0);
        assert_eq!(guest.of_other_instants(&found(5)), 0);
        assert_eq!(guest.of_other_instants(&found(100)), 0);
        let mut torn = found(100);
        // The last write is present, but the one before it is not.
        let place = guest.place(99) as usize;
        torn[place] = Found::Stamp(83);
        assert_eq!(guest.of_other_instants(&torn), 1);
        torn[place] = Found::Torn;
        assert_eq!(guest.of_other_instants(&torn), 1);
    }
}
