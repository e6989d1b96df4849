//! `cargo xtask chaos`: malicious initiators (`loads::chaos`) and two well-behaved ones on
//! one array.
//!
//! Each well-behaved initiator has a private volume. One, the witness, checks response times; the
//! other is the verifying load, which knows the expected content of every block. Neither may be
//! affected. The process must survive, its memory must stay within bounds, and the malicious
//! initiators may see neither private volume. At the end the array has no session left over, stops
//! when asked, and its pool is clean.

use crate::tally::Tally;
use crate::threads::Threads;
use anyhow::{Context, Result, anyhow};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::{observe, program};
use clap::Args;
use conformance::url::Url;
use loads::chaos::{self, ChaosOptions, ChaosReport, script, witness};
use loads::verifying_load::{LoadError, LoadOptions, VerifyingLoad};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Amount and choice of the scripts.
#[derive(Args)]
pub(crate) struct Options {
    /// Seed of all scripts: script N of a seed always has the same bytes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds during which scripts are started.
    #[arg(long, default_value_t = 40)]
    seconds: u64,
    /// Number of the first script.
    #[arg(long, default_value_t = 0, value_name = "N")]
    first: u64,
    /// Most scripts; 1 with `--first` repeats one script.
    #[arg(long, default_value_t = u64::MAX, value_name = "N")]
    count: u64,
    /// Concurrent scripts.
    #[arg(long, default_value_t = 6, value_name = "N")]
    at_once: usize,
    #[command(flatten)]
    threads: Threads,
}

impl Options {
    /// Options for `cargo xtask ci`.
    pub(crate) fn short() -> Self {
        Self { seed: 1, seconds: 25, first: 0, count: u64::MAX, at_once: 6, threads: Threads::one() }
    }
}

/// Names and secret of the well-behaved initiators.
const WITNESS: &str = "iqn.2026-01.org.example:witness";
const LOAD: &str = "iqn.2026-01.org.example:verifying-load";
const SECRET: &str = "the-witness-secret";
/// Longest permitted time of a command of the witness: hosts give up much later.
const LATENCY: Duration = Duration::from_secs(5);
/// Memory limit of the array, and limit of its resident memory, which includes the process itself
/// and buffers of sockets and connections.
const MEMORY: &str = "512M";
const RESIDENT_BYTES: u64 = 900 << 20;
const CHECK_LIMIT: Duration = Duration::from_secs(300);
/// Time until the sessions of closed connections must have ended.
const SETTLE: Duration = Duration::from_secs(40);
/// Number of scripts in the fingerprint.
const FINGERPRINT: u64 = 500;

/// Runs the scripts; eight checks.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let directory = tempfile::Builder::new().prefix("windlass-chaos-").tempdir()?;
    let mut array = Array::start(ArrayOptions {
        executable: windlass.to_path_buf(),
        state_directory: directory.path().join("array"),
        portals: vec![free_portal()?, free_portal()?],
        pool_size: "4G".into(),
        arguments: [options.threads.arguments(), vec!["--memory".into(), MEMORY.into()]].concat(),
    })?;
    let open = array.create_volume("open", "256M")?;
    let witness_url = private(&array, "witness", WITNESS)?;
    let load_url = private(&array, "load", LOAD)?;
    let urls = open.urls.iter().map(|url| parse(url)).collect::<Result<Vec<_>>>()?;
    let first = urls.first().context("the volume has no URL")?;
    // The target's name is new for each array; the seed determines everything else.
    let nameless = script::Facts { target: "x".repeat(first.target.len()), lun: first.lun_bytes() };
    let fingerprint = script::fingerprint(options.seed, FINGERPRINT, &nameless);
    println!("  seed {}, fingerprint {fingerprint:016x} of the first {FINGERPRINT} scripts", options.seed);

    let started = Instant::now();
    let chaos_options = ChaosOptions {
        urls,
        seed: options.seed,
        first: options.first,
        count: options.count,
        time: Duration::from_secs(options.seconds),
        at_once: options.at_once,
        secret: witness::secret(options.seed),
    };
    let seen = watch(&array, &chaos_options, &witness_url, &load_url)?;
    let mut tally = Tally::default();
    let mut check = |held: bool, words: &str| {
        if !held {
            println!("  FAILED: {words}");
        }
        tally += Tally::one(held);
    };

    println!("  {}", seen.chaos);
    check(seen.chaos.total() > 0, "no script was run");
    let leaks = &seen.chaos.leaks;
    check(leaks.is_empty(), &format!("scripts {leaks:?} saw what the witness wrote"));
    match &seen.witness {
        Ok(testimony) => println!("  the witness: {testimony}"),
        Err(error) => println!("  the witness: {error:#}"),
    }
    let patient = |testimony: &witness::WitnessReport| testimony.commands() > 0 && testimony.quantile(1000) <= LATENCY;
    check(seen.witness.as_ref().is_ok_and(patient), "the witness was not served in time");
    println!("  the load: {}", seen.load_words);
    check(seen.load_held, "the load that knows what every block holds noticed something");
    println!(
        "  {} resident at most; {} after {}",
        text::size::format(seen.most_resident_bytes),
        if seen.alive { "alive" } else { "dead" },
        text::duration::measured(started.elapsed())
    );
    check(seen.alive, "the array's process has ended");
    check(seen.most_resident_bytes <= RESIDENT_BYTES, "more memory than there should be");
    let left = if seen.alive { sessions_left(&array)? } else { Vec::new() };
    check(left.is_empty(), &format!("sessions of connections that are gone: {}", left.join(", ")));
    if seen.alive {
        array.stop()?;
    }
    let file = array.pool_file().display().to_string();
    let finished = program::run(windlass, &["pool", "check", &file], CHECK_LIMIT)?;
    check(finished.success(), &format!("pool check found:\n{}{}", finished.stdout, finished.stderr));
    if tally.failed > 0 {
        println!("  the array's log ends:\n{}", array.log_end());
        println!("  once more: cargo xtask chaos --seed {} --first {}", options.seed, options.first);
        println!("  pool and log are kept in {}", directory.keep().display());
    }
    Ok(tally)
}

fn parse(url: &str) -> Result<Url> {
    url.parse::<Url>().with_context(|| format!("{url} is no URL"))
}

/// Creates a volume for one initiator, which has to authenticate; returns its URL.
fn private(array: &Array, name: &str, initiator: &str) -> Result<Url> {
    array.command(&["volume", "create", name, "--size", "256M"])?;
    let secret = array.options().state_directory.join("chap-secret");
    std::fs::write(&secret, SECRET)?;
    let secret = format!("file:{}", secret.display());
    array.command(&["host", "create", name, "--iqn", initiator, "--chap-user", name, "--chap-secret", &secret])?;
    array.command(&["access", "grant", name, "--host", name])?;
    let volume = array.volume(name)?;
    let url = volume.url().replacen("iscsi://", &format!("iscsi://{name}%{SECRET}@"), 1);
    parse(&url)
}

/// Results of a run.
struct Seen {
    chaos: ChaosReport,
    witness: Result<witness::WitnessReport>,
    load_words: String,
    load_held: bool,
    alive: bool,
    most_resident_bytes: u64,
}

/// Runs the scripts while the well-behaved initiators work, and monitors the process.
fn watch(array: &Array, options: &ChaosOptions, witness_url: &Url, load_url: &Url) -> Result<Seen> {
    let mut load = VerifyingLoad::new(LoadOptions {
        seed: options.seed,
        blocks: 16_384,
        depth: 4,
        timeout: Duration::from_secs(20),
        outage: Duration::from_secs(5),
        initiator_name: LOAD.into(),
        ..LoadOptions::new(vec![load_url.clone()])
    })?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let witness = scope.spawn(|| witness::run(witness_url, WITNESS, options.seed, LATENCY * 2, &stop));
        let load = scope.spawn(|| {
            let result = load.run(&stop);
            (load, result)
        });
        let chaos = scope.spawn(|| chaos::run(options, &stop));
        let mut most_resident_bytes = 0;
        let mut alive = true;
        while alive && !chaos.is_finished() {
            thread::sleep(Duration::from_millis(100));
            match observe::memory(array.pid()) {
                Ok(memory) => most_resident_bytes = most_resident_bytes.max(memory.peak_resident_bytes),
                // A process that has ended has no memory.
                Err(_) => alive = false,
            }
        }
        let chaos = chaos.join().map_err(|_| anyhow!("a script panicked"))?;
        stop.store(true, Ordering::Relaxed);
        let witness = witness.join().map_err(|_| anyhow!("the witness panicked"))?.map_err(anyhow::Error::new);
        let (mut load, result) = load.join().map_err(|_| anyhow!("the load panicked"))?;
        let result: Result<(), LoadError> = result.and_then(|()| load.verify_all());
        let outages = load.report().outages;
        let mut load_words = load.report().to_string();
        if let Err(error) = &result {
            load_words = format!("{load_words}\n  {error}");
        }
        // A single lost connection is a failure.
        let load_held = result.is_ok() && outages == 0;
        Ok(Seen { chaos, witness, load_words, load_held, alive, most_resident_bytes })
    })
}

/// Sessions that the array still has some time after all connections were closed.
fn sessions_left(array: &Array) -> Result<Vec<String>> {
    let started = Instant::now();
    loop {
        let sessions = array.json(&["session", "list"])?;
        let list = sessions.as_array().or_else(|| sessions.get("items").and_then(Value::as_array));
        let list = list.with_context(|| format!("`session list` printed something else: {sessions}"))?;
        if list.is_empty() || started.elapsed() > SETTLE {
            return Ok(list.iter().map(Value::to_string).collect());
        }
        thread::sleep(Duration::from_millis(200));
    }
}
