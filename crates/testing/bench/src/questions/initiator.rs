//! Is the host kit's initiator fast enough that a benchmark measures the array? Random 4 KiB reads
//! of one filled logical unit at depth 32, the pool in memory, the array on one processor and the
//! initiator on another, then both on one; libiscsi's own load (`iscsi-perf`, Debian package
//! libiscsi-bin) for comparison, in turn.
//!
//! Operations per second, and operations per second of the client's processor time (the rate that
//! it could request from a faster array), as ratios of each pair: higher is better. Our side checks
//! the number in every block that it reads, libiscsi's checks nothing. Small: 64 MiB. Large: 1 GiB.

use super::{GIB, MIB};
use crate::Options;
use crate::data::{self, BLOCK_BYTES, LOGICAL_BLOCKS};
use crate::latencies::Latencies;
use crate::load::Load;
use crate::report::{Report, Spread, short};
use crate::session::Session as LoadSession;
use crate::targets::{Windlass, memory_directory};
use anyhow::{Context, Result, anyhow, ensure};
use array_process::{observe, program};
use initiator::url::Url;
use initiator::{LogicalUnit, Session};
use random::Random;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime;
use tokio::task::LocalSet;

pub(super) const ASKS: &str = "4 KiB reads that the host kit's initiator asks for, beside libiscsi";

const OURS: &str = "kit";
const THEIRS: &str = "libiscsi";
const DEPTH: u64 = 32;

/// Load, with the processor time of its client.
struct Run {
    load: Load,
    client: Duration,
}

impl Run {
    fn client_us(&self) -> f64 {
        self.client.as_secs_f64() * 1e6 / self.load.operations.max(1) as f64
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let size_bytes = if options.small { 64 * MIB } else { GIB };
    let array = Windlass::start(windlass, &memory_directory()?, "4G")?;
    let volume = array.array.create_volume("bench", &size_bytes.to_string())?;
    let server = array.array.pid();
    data::fill(&mut LoadSession::connect(volume.url())?, server, size_bytes)?;
    let iscsi_perf = program::find("iscsi-perf");
    if iscsi_perf.is_none() {
        report.fact(
            "no comparison: iscsi-perf is not installed; on Debian and Ubuntu: apt-get install libiscsi-bin".into(),
        );
    }
    for place in [Place::Apart, Place::Together] {
        let pair = |repetition: usize| {
            let ours = || kit(volume.url(), server, size_bytes, options.time(), repetition as u64);
            let theirs = || {
                iscsi_perf.as_deref().map(|program| libiscsi(program, volume.url(), server, options.time())).transpose()
            };
            // The order alternates.
            Ok(match repetition % 2 {
                0 => (ours()?, theirs()?),
                _ => {
                    let theirs = theirs()?;
                    (ours()?, theirs)
                }
            })
        };
        // Programs started by this thread inherit its processor, and the pinning ends with the
        // thread.
        let measured = thread::scope(|scope| {
            let measure = || -> Result<Vec<(Run, Option<Run>)>> {
                place.take(server)?;
                (0..options.repetitions()).map(pair).collect()
            };
            scope.spawn(measure).join()
        });
        place.tell(measured.map_err(|_| anyhow!("the load panicked"))??, report);
    }
    Ok(())
}

/// Processors of array and client.
#[derive(Clone, Copy)]
enum Place {
    /// One processor for each: the slower one determines the rate.
    Apart,
    /// One processor for both: the client's cost reduces the rate.
    Together,
}

impl Place {
    fn row(self) -> &'static str {
        match self {
            Self::Apart => "client read 4k qd32",
            Self::Together => "client read 4k, one core",
        }
    }

    /// Pins the array and this thread. With only one processor, does nothing.
    fn take(self, server: u32) -> Result<()> {
        let allowed = sched_getaffinity(None)?;
        let mut processors = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor));
        let (Some(first), Some(second)) = (processors.next(), processors.next()) else { return Ok(()) };
        let only = |processor| {
            let mut set = CpuSet::new();
            set.set(processor);
            set
        };
        for thread in std::fs::read_dir(format!("/proc/{server}/task"))? {
            let number = thread?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            sched_setaffinity(Some(number.context("a thread without a number")?), &only(first))?;
        }
        let client = match self {
            Self::Apart => second,
            Self::Together => first,
        };
        Ok(sched_setaffinity(None, &only(client))?)
    }

    fn tell(self, pairs: Vec<(Run, Option<Run>)>, report: &mut Report) {
        let (mut ratios, mut cheaper, mut ours_us, mut theirs_us) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // The rate of a saturated array is its own, not the client's.
        let mut array_busy = Vec::new();
        for (ours, theirs) in pairs {
            ours_us.push(ours.client_us());
            array_busy.push(ours.load.server_cpu.as_secs_f64() / ours.load.elapsed.as_secs_f64() * 100.0);
            if let Some(theirs) = theirs {
                ratios.push(ours.load.rate() / theirs.load.rate().max(1e-9));
                cheaper.push(theirs.client_us() / ours.client_us().max(1e-9));
                theirs_us.push(theirs.client_us());
                report.load(self.row(), THEIRS, theirs.load);
            }
            report.load(self.row(), OURS, ours.load);
        }
        let spread = |numbers: Vec<f64>| {
            let Spread { least, median, greatest } = Spread::of(numbers);
            format!("{} ({}–{})", short(median), short(least), short(greatest))
        };
        let row = self.row();
        report.fact(format!("{row}: client CPU of a read by the kit: {} µs", spread(ours_us)));
        report.fact(format!("{row}: the array is busy for the kit: {} % of its processor", spread(array_busy.clone())));
        if matches!(self, Self::Apart) {
            report.at_least(
                "the array is what limits the kit",
                Spread::of(array_busy).median,
                95.0,
                "% of its processor",
            );
        }
        if ratios.is_empty() {
            return;
        }
        report.fact(format!("{row}: client CPU of a read by libiscsi: {} µs", spread(theirs_us)));
        report.fact(format!("{row}: operations a second, of libiscsi's: {}", spread(ratios.clone())));
        report
            .fact(format!("{row}: operations for a second of the client, of libiscsi's: {}", spread(cheaper.clone())));
        if matches!(self, Self::Together) {
            report.at_least(&format!("{row}: operations a second"), Spread::of(ratios).median, 1.5, "× libiscsi");
        }
        report.at_least(
            &format!("{row}: operations for a second of the client"),
            Spread::of(cheaper).median,
            1.5,
            "× libiscsi",
        );
    }
}

/// Runs the kit's initiator, with a task for each outstanding command.
fn kit(url: &str, server: u32, size_bytes: u64, time: Duration, repetition: u64) -> Result<Run> {
    let url: Url = url.parse()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let session = Session::connect(&url, &initiator::Options::default()).await?;
        let unit = Rc::new(LogicalUnit::find(&session, url.lun).await?);
        let blocks = size_bytes / BLOCK_BYTES;
        let latencies = Rc::new(RefCell::new(Latencies::default()));
        let commands = Rc::new(Cell::new(0_u64));
        let client_before = observe::processor_time(std::process::id())?.total();
        let server_before = observe::processor_time(server)?.total();
        let wire_before = session.counters();
        let started = Instant::now();
        let reader = |_| {
            let (unit, latencies, commands) = (unit.clone(), latencies.clone(), commands.clone());
            tokio::task::spawn_local(async move {
                loop {
                    let submitted = Instant::now();
                    if submitted.duration_since(started) >= time {
                        return anyhow::Ok(());
                    }
                    let number =
                        Random::new((repetition + 1) << 40 ^ commands.replace(commands.get() + 1)).next() % blocks;
                    let data = unit.read_blocks(number * u64::from(LOGICAL_BLOCKS), LOGICAL_BLOCKS).await?;
                    data::check(number, &data)?;
                    latencies.borrow_mut().record(submitted.elapsed());
                }
            })
        };
        let readers: Vec<_> = (0..DEPTH).map(reader).collect();
        for reader in readers {
            reader.await??;
        }
        let elapsed = started.elapsed();
        let client = observe::processor_time(std::process::id())?.total().saturating_sub(client_before);
        let server_cpu = observe::processor_time(server)?.total().saturating_sub(server_before);
        let wire = session.counters();
        let latencies = latencies.take();
        let load = Load {
            operations: latencies.count(),
            elapsed,
            latencies,
            server_cpu,
            sent_bytes: wire.sent_bytes - wire_before.sent_bytes,
            received_bytes: wire.received_bytes - wire_before.received_bytes,
        };
        session.logout().await?;
        Ok(Run { load, client })
    })
}

/// Runs libiscsi's own load, for whole seconds; it prints its rate.
fn libiscsi(program: &Path, url: &str, server: u32, time: Duration) -> Result<Run> {
    let seconds = time.as_secs().max(1).to_string();
    let depth = DEPTH.to_string();
    let blocks = LOGICAL_BLOCKS.to_string();
    let server_before = observe::processor_time(server)?.total();
    let mut child = Command::new(program)
        .args(["-m", &depth, "-b", &blocks, "-t", &seconds, "-r", url])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start iscsi-perf")?;
    let limit = Instant::now() + time + Duration::from_secs(30);
    let mut client = Duration::ZERO;
    let status = loop {
        // The last sample before the end misses only some milliseconds.
        client = observe::processor_time(child.id()).map_or(client, |time| time.total().max(client));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > limit {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("iscsi-perf does not end");
        }
        thread::sleep(Duration::from_millis(10));
    };
    let server_cpu = observe::processor_time(server)?.total().saturating_sub(server_before);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().context("no standard output of iscsi-perf")?, &mut text)?;
    ensure!(status.success(), "iscsi-perf failed ({status}): {text}");
    let rate = rate(&text).with_context(|| format!("iscsi-perf says no rate: {text}"))?;
    let elapsed = Duration::from_secs(time.as_secs().max(1));
    let load = Load { operations: rate * elapsed.as_secs(), elapsed, server_cpu, ..Load::default() };
    Ok(Run { load, client })
}

/// Parses the last `iops average N` of the output.
fn rate(text: &str) -> Option<u64> {
    text.rsplit("iops average ").next()?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn the_last_average_counts() {
        let text = "will run for 3 seconds.\n\r00:00:02 - lba 1, iops current 5439 (21 MB/s), iops average 5439 (21 MB/s)\riops average 5629 (21 MB/s)   \n\nfinished.\n";
        assert_eq!(rate(text), Some(5629));
        assert_eq!(rate("finished"), None);
    }
}
