//! What do administrators cost hosts? A host reads random 4 KiB blocks, four outstanding, of an array with many
//! volumes, the pool in memory; beside it are ten open consoles, each with its live stream and a list that it asks for
//! every five seconds, and a scrape of the metrics each second; then also a stranger who asks for `/health` 500 times a
//! second. p99 of the host's reads beside them, divided by p99 alone, in turns: lower is better. And without a host:
//! processor time that the consoles take, without that of an idle array; also with the scrapes, of which there are
//! fifteen for each one of a usual Prometheus, and with the stranger. All of them connect over the administrative
//! socket, so TLS is not in it. Small: 200 volumes. Large: 5 000.

use super::small_io::{Subject, random_io};
use super::{GIB, MIB, filled_volume};
use crate::Options;
use crate::data::BLOCK_BYTES;
use crate::load::{End, Load};
use crate::report::{Report, Spread};
use crate::targets::{Windlass, memory_directory};
use anyhow::{Context, Result, anyhow, bail, ensure};
use array_process::administration::Client;
use array_process::observe;
use serde_json::{Value, json};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const ASKS: &str = "latency of a host beside ten consoles, scrapes and a stranger";

/// Open consoles.
const CONSOLES: usize = 10;
/// Time between two requests of a console for its list.
const LIST_INTERVAL: Duration = Duration::from_secs(5);
const SCRAPE_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a stream that sends nothing has failed.
const SILENCE: Duration = Duration::from_secs(5);
/// Time between two requests of the stranger: 500 a second.
const STRANGER_INTERVAL: Duration = Duration::from_millis(2);
/// Topics of the console's first page.
const TOPICS: &str = "array+changes+jobs+alerts+busiest+events";

/// Beginning of a response that is a stream.
const HEAD: &[u8] = b"HTTP/1.1 200";

/// Visitors beside a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Visitors {
    /// Ten consoles.
    Consoles,
    /// These, and a scrape each second.
    AndScrapes,
    /// These, and a stranger who asks for `/health`.
    AndStranger,
}

/// What visitors got.
#[derive(Default)]
struct Served {
    stream_bytes: AtomicU64,
    requests: AtomicU64,
    /// Of these, the stranger's.
    stranger: AtomicU64,
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (volumes, size_bytes) = if options.small { (200, 64 * MIB) } else { (5_000, GIB) };
    let array = Windlass::start(windlass, &memory_directory()?, "4G")?;
    let pid = array.array.pid();
    let socket = array.array.options().state_directory.join("windlass.sock");
    let mut client = Client::connect(&socket)?;
    for at in 0..volumes {
        let body = json!({ "name": format!("v{at:04}"), "size_bytes": MIB }).to_string();
        let (status, text) = client.send("POST", "/api/v1/volumes", &body)?;
        ensure!(status == 201, "volume {at}: {status} {text}");
    }
    let (_, session) = filled_volume(&array, "host", size_bytes)?;
    let mut subject = Subject { name: "windlass", pid, session };
    let (time, blocks) = (options.time(), size_bytes / BLOCK_BYTES);
    let mut host = |seed| random_io(&mut subject, blocks, false, 4, End::After(time), seed);

    let (mut alone, mut consoles, mut stranger) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..options.repetitions().max(2) as u64 {
        alone.push(host(round)?);
        consoles.push(beside(&socket, Visitors::AndScrapes, || host(round))?.0);
        stranger.push(beside(&socket, Visitors::AndStranger, || host(round))?.0);
    }
    let p99 = |loads: &[Load]| Spread::of(loads.iter().map(|load| load.latency_us(99.0)).collect());
    let p999 = |loads: &[Load]| Spread::of(loads.iter().map(|load| load.latency_us(99.9)).collect()).median as u64;
    for (what, loads) in [("alone", &alone), ("beside consoles", &consoles), ("and a stranger", &stranger)] {
        let Spread { least, median, greatest } = p99(loads);
        report.fact(format!(
            "reads {what}: p99 {} µs ({} to {}), p99.9 {} µs",
            median as u64,
            least as u64,
            greatest as u64,
            p999(loads)
        ));
    }
    let base = p99(&alone).median.max(1e-9);
    report.at_most("p99 of reads beside ten consoles and scrapes", p99(&consoles).median / base, 1.05, "× alone");
    report.at_most("and beside 500 requests a second for /health", p99(&stranger).median / base, 1.05, "× alone");

    let share = |visitors: Option<Visitors>| -> Result<(f64, Served)> {
        let pause = time.max(Duration::from_secs(if options.small { 1 } else { 10 }));
        let measure = || -> Result<f64> {
            let (before, began) = (observe::processor_time(pid)?.total(), Instant::now());
            thread::sleep(pause);
            Ok((observe::processor_time(pid)?.total() - before).as_secs_f64() / began.elapsed().as_secs_f64())
        };
        visitors.map_or_else(|| Ok((measure()?, Served::default())), |visitors| beside(&socket, visitors, measure))
    };
    let (idle, _) = share(None)?;
    let (busy, served) = share(Some(Visitors::Consoles))?;
    let (with_scrapes, _) = share(Some(Visitors::AndScrapes))?;
    let (with_stranger, crowd) = share(Some(Visitors::AndStranger))?;
    report.fact(format!(
        "without a host, percent of a core: idle {:.2}, ten consoles {:.2}, and a scrape a second {:.2}, and the stranger {:.2}; \
         streams {} KB, requests {}, the stranger's {}",
        idle * 100.0,
        busy * 100.0,
        with_scrapes * 100.0,
        with_stranger * 100.0,
        served.stream_bytes.load(Ordering::Relaxed) / 1000,
        served.requests.load(Ordering::Relaxed),
        crowd.stranger.load(Ordering::Relaxed)
    ));
    report.at_most("processor time of ten consoles", (busy - idle) * 100.0, 1.0, "% of a core");
    Ok(())
}

/// Tells the visitors to leave when it is dropped.
struct Departure<'a>(&'a AtomicBool);

impl Drop for Departure<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does the work while the visitors are there.
fn beside<T>(socket: &Path, visitors: Visitors, work: impl FnOnce() -> Result<T>) -> Result<(T, Served)> {
    let (ends, served) = (AtomicBool::new(false), Served::default());
    let result = thread::scope(|scope| -> Result<T> {
        // However this ends, the visitors do, too.
        let departure = Departure(&ends);
        let mut tasks = Vec::new();
        let ids = volume_ids(socket)?;
        for at in 0..CONSOLES {
            let topics = if at % 2 == 0 { TOPICS.to_owned() } else { format!("array+changes+volumes:{ids}") };
            let stream = Client::connect(socket)?.stream(&format!("/api/v1/live?topics={topics}"))?;
            tasks.push(scope.spawn(|| follow(stream, &ends, &served)));
        }
        let asks = |paths: Vec<&'static str>, interval, count| {
            let socket = PathBuf::from(socket);
            let ends = &ends;
            scope.spawn(move || ask(&socket, &paths, interval, ends, count))
        };
        let lists = vec!["/api/v1/volumes?limit=100&sort=-size_bytes"];
        tasks.push(asks(lists, LIST_INTERVAL / CONSOLES as u32, &served.requests));
        if visitors >= Visitors::AndScrapes {
            let metrics = vec!["/metrics", "/metrics/volumes?active=true"];
            tasks.push(asks(metrics, SCRAPE_INTERVAL, &served.requests));
        }
        if visitors == Visitors::AndStranger {
            tasks.push(asks(vec!["/health"], STRANGER_INTERVAL, &served.stranger));
        }
        let began = Instant::now();
        let result = work();
        let lasted = began.elapsed();
        drop(departure);
        for task in tasks {
            task.join().map_err(|_| anyhow!("a visitor's thread panicked"))??;
        }
        // Visitors that are held back would look cheap.
        let wanted = lasted.as_secs_f64() / STRANGER_INTERVAL.as_secs_f64();
        let asked = served.stranger.load(Ordering::Relaxed);
        ensure!(
            visitors < Visitors::AndStranger || asked as f64 >= 0.8 * wanted,
            "the stranger asked {asked} times in {lasted:?}, and {wanted:.0} were wanted"
        );
        result
    })?;
    Ok((result, served))
}

/// Ids of fifty volumes, as a page of the list follows them.
fn volume_ids(socket: &Path) -> Result<String> {
    let list: Value = serde_json::from_str(&Client::connect(socket)?.get("/api/v1/volumes?limit=50")?)?;
    let items = list["items"].as_array().context("a list without items")?;
    Ok(items.iter().filter_map(|item| item["id"].as_str()).collect::<Vec<_>>().join(","))
}

/// Reads a live stream until the end.
fn follow(mut stream: UnixStream, ends: &AtomicBool, served: &Served) -> Result<()> {
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut buffer = vec![0; 1 << 16];
    let (mut bytes, mut heard) = (0, Instant::now());
    while !ends.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => bail!("the array ended a stream"),
            Ok(count) => {
                let head = buffer.get(..count.min(HEAD.len()));
                ensure!(
                    bytes > 0 || head == Some(HEAD),
                    "a stream begins with {:?}",
                    head.map(String::from_utf8_lossy)
                );
                bytes += count as u64;
                heard = Instant::now();
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error).context("a stream"),
        }
        ensure!(heard.elapsed() < SILENCE, "a stream, which has a sample each second, was silent for {SILENCE:?}");
    }
    ensure!(bytes > 0, "a stream sent nothing");
    served.stream_bytes.fetch_add(bytes, Ordering::Relaxed);
    Ok(())
}

/// Asks for paths on schedule until the end; what is late is not made up for.
fn ask(socket: &Path, paths: &[&str], interval: Duration, ends: &AtomicBool, count: &AtomicU64) -> Result<()> {
    let mut client = Client::connect(socket)?;
    let mut due = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        for path in paths {
            client.get(path)?;
            count.fetch_add(1, Ordering::Relaxed);
        }
        due = (due + interval).max(Instant::now());
        while !ends.load(Ordering::Relaxed) {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(Duration::from_millis(200)));
        }
    }
    Ok(())
}
