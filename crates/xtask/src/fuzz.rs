//! `cargo xtask fuzz`: libFuzzer on the targets of `crates/testing/fuzz_targets`, with the stable
//! toolchain.
//!
//! The program `fuzz/fuzz_targets/any.rs` is built with the coverage that libFuzzer needs: the
//! compiler's own pass, requested with flags that a stable compiler accepts. No sanitizer is used,
//! because the array has no unsafe code outside `media`; it looks for panics, overflows, endless
//! loops and memory. Without options two targets run, chosen by the commit; the seeds and
//! regressions of all targets are among the tests of `fuzz_targets`. Code generates the seeds; the
//! corpus of a run is kept under the target directory and used by the next one.

use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use fuzz_targets::{TARGETS, Target};
use std::collections::VecDeque;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Number of targets in a run without options, chosen by the commit, and time for each.
const TURNS: usize = 2;
const TURN: Duration = Duration::from_secs(20);
/// Time for a target that was named.
const NAMED: Duration = Duration::from_secs(30);
/// Concurrent programs.
const AT_ONCE: usize = 2;
/// Program that contains all targets, and variable that selects one.
const PROGRAM: &str = "any";
const CHOICE: &str = "WINDLASS_FUZZ_TARGET";
/// Memory limit of a program, and time limit of an input. The program itself limits the memory of
/// an input (`fuzz/src/lib.rs`).
const RSS_LIMIT: &str = "-rss_limit_mb=2048";
const TIMEOUT: &str = "-timeout=10";
/// Compiler flags for libFuzzer: counters of edges, a table of them, and tracing of comparisons.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Targets to run.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Run only this target; may be given several times.
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Seconds for each target; without `--target`, for all targets.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Print the names of the targets and exit.
    #[arg(long)]
    list: bool,
    /// Run one input, once, with the one target given: the file in which a failure was kept.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Run one input, once: its bytes in hexadecimal.
    #[arg(long, value_name = "BYTES", conflicts_with = "input")]
    hex: Option<String>,
}

/// Runs the targets; one check each.
pub(crate) fn run(options: &Options) -> Result<Tally> {
    if options.list {
        for target in TARGETS {
            println!("{:20} {}", target.name, target.what);
        }
        return Ok(Tally::default());
    }
    let (targets, time) = chosen(options)?;
    let program = build()?;
    if options.input.is_some() || options.hex.is_some() {
        let [target] = targets[..] else { bail!("one input is for one target: --target NAME") };
        return once(&program, target, options);
    }
    let mut waiting = VecDeque::from(targets);
    let mut running: Vec<Running> = Vec::new();
    let mut tally = Tally::default();
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < AT_ONCE
            && let Some(target) = waiting.pop_front()
        {
            running.push(Running::start(&program, target, time)?);
        }
        std::thread::sleep(Duration::from_millis(50));
        let mut index = 0;
        while let Some(one) = running.get_mut(index) {
            match one.finished()? {
                Some(passed) => {
                    tally += Tally::one(passed);
                    drop(running.swap_remove(index));
                }
                None => index += 1,
            }
        }
    }
    Ok(tally)
}

/// Targets to run, and time for each.
fn chosen(options: &Options) -> Result<(Vec<&'static Target>, Duration)> {
    let seconds = options.seconds.map(Duration::from_secs);
    if !options.target.is_empty() {
        let find = |name: &String| {
            fuzz_targets::target(name).with_context(|| format!("there is no target {name}; see --list"))
        };
        let targets: Vec<_> = options.target.iter().map(find).collect::<Result<_>>()?;
        return Ok((targets, seconds.unwrap_or(NAMED)));
    }
    if let Some(time) = seconds {
        return Ok((TARGETS.iter().collect(), time));
    }
    let (words, turn) = workspace::turn();
    let targets: Vec<_> = TARGETS.iter().enumerate().filter(|(n, _)| has_turn(turn, *n)).map(|(_, t)| t).collect();
    println!("  {words}: {}", targets.iter().map(|target| target.name).collect::<Vec<_>>().join(", "));
    Ok((targets, TURN))
}

/// Whether the target with this number is among those of a turn.
fn has_turn(turn: u64, number: usize) -> bool {
    let first = usize::try_from(turn % TARGETS.len() as u64).unwrap_or(0);
    (number + TARGETS.len() - first) % TARGETS.len() < TURNS
}

/// Directory of the corpora and logs.
fn directory() -> PathBuf {
    workspace::target().join("fuzz")
}

/// Builds the program with all targets; returns its path.
fn build() -> Result<PathBuf> {
    let started = Instant::now();
    let host = host()?;
    let mut cargo = workspace::cargo();
    // With a target given, only the program is instrumented, and what runs while building is what
    // `cargo test` has built already.
    cargo.args(["build", "--quiet", "--target", &host, "--bin", PROGRAM]);
    cargo.current_dir(workspace::root().join("fuzz"));
    cargo
        .env("CARGO_TARGET_DIR", workspace::target())
        .env("RUSTFLAGS", RUSTFLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        // Nothing else is built meanwhile: both processors share the units of the largest crates.
        .env_remove("CARGO_PROFILE_DEV_CODEGEN_UNITS");
    ensure!(cargo.status().context("cannot run cargo")?.success(), "the fuzz program does not build");
    println!("  the targets built in {}", text::duration::measured(started.elapsed()));
    Ok(workspace::target().join(host).join("debug").join(PROGRAM))
}

/// Triple of this machine.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = words.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it compiles for")?.to_owned())
}

/// Running program.
struct Running {
    target: &'static Target,
    process: Child,
    started: Instant,
    limit: Duration,
    log: PathBuf,
    artifacts: PathBuf,
}

impl Running {
    fn start(program: &Path, target: &'static Target, time: Duration) -> Result<Self> {
        let own = directory().join("runs").join(target.name);
        let [corpus, seeds, artifacts] = ["corpus", "seeds", "artifacts"].map(|name| own.join(name));
        for directory in [&seeds, &artifacts] {
            // The corpus of an earlier run belongs to an earlier program.
            if directory.exists() {
                fs::remove_dir_all(directory)?;
            }
        }
        for directory in [&corpus, &seeds, &artifacts] {
            fs::create_dir_all(directory)?;
        }
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(seeds.join(format!("seed-{number:04}")), seed)?;
        }
        let log = own.join("log");
        let output = File::create(&log)?;
        let mut command = Command::new(program);
        command.env(CHOICE, target.name).arg(&corpus).arg(&seeds);
        let regressions = workspace::root().join("fuzz/regressions").join(target.name);
        if regressions.is_dir() {
            command.arg(&regressions);
        }
        command
            .arg(format!("-max_total_time={}", time.as_secs()))
            .arg(format!("-max_len={}", target.max_bytes))
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .args([RSS_LIMIT, TIMEOUT, "-print_final_stats=1", "-len_control=0"])
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let process = command.spawn().with_context(|| format!("cannot run {}", target.name))?;
        // Reading a large corpus takes time too.
        let limit = time * 2 + Duration::from_secs(120);
        Ok(Self { target, process, started: Instant::now(), limit, log, artifacts })
    }

    /// Returns and prints the result, if the program has ended.
    fn finished(&mut self) -> Result<Option<bool>> {
        let status = match self.process.try_wait()? {
            Some(status) => status,
            None if self.started.elapsed() < self.limit => return Ok(None),
            None => {
                self.process.kill()?;
                self.process.wait()?
            }
        };
        let log = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        println!("  {:20} {}", self.target.name, summary(&log, self.started.elapsed()));
        if status.success() {
            return Ok(Some(true));
        }
        println!("  {} failed ({status}); its log is {}", self.target.name, self.log.display());
        for line in failure_lines(&log) {
            println!("    {line}");
        }
        for artifact in fs::read_dir(&self.artifacts)? {
            let artifact = artifact?.path();
            println!("  the input ({}): {}", artifact.display(), hexadecimal(&fs::read(&artifact)?));
            println!("  once more: cargo xtask fuzz --target {} --input {}", self.target.name, artifact.display());
        }
        Ok(Some(false))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program has ended, unless another step failed.
        if matches!(self.process.try_wait(), Ok(None)) {
            let _killed = self.process.kill();
            let _waited = self.process.wait();
        }
    }
}

/// Executions, coverage and memory, from libFuzzer's log.
fn summary(log: &str, elapsed: Duration) -> String {
    let stat = |name: &str| {
        let line = log.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map_or("?", str::trim).to_owned()
    };
    let last = log.lines().rev().find(|line| line.starts_with('#') && line.contains(" cov: ")).unwrap_or_default();
    let after = |word: &str| {
        let mut words = last.split_ascii_whitespace().skip_while(|found| *found != word).skip(1);
        words.next().unwrap_or("?").to_owned()
    };
    format!(
        "{} executions in {}, {} edges, {} features, {} MiB",
        stat("stat::number_of_executed_units"),
        text::duration::measured(elapsed),
        after("cov:"),
        after("ft:"),
        stat("stat::peak_rss_mb")
    )
}

/// Lines that describe a failure.
fn failure_lines(log: &str) -> Vec<&str> {
    let telling = |line: &&str| {
        line.contains("panicked at") || line.contains("ERROR: libFuzzer") || line.contains("memory allocation of")
    };
    let lines: Vec<&str> = log.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| telling(line)) {
        found.push(*line);
        if line.contains("panicked at") {
            found.extend(lines.get(number + 1).copied());
        }
    }
    found
}

/// Runs one input and prints the program's output.
fn once(program: &Path, target: &Target, options: &Options) -> Result<Tally> {
    let file = match (&options.input, &options.hex) {
        (Some(file), _) => file.clone(),
        (None, Some(hex)) => {
            let file = directory().join("input");
            fs::write(&file, bytes(hex).context("--hex wants pairs of hexadecimal digits")?)?;
            file
        }
        (None, None) => bail!("there is no input"),
    };
    let status = Command::new(program).env(CHOICE, target.name).arg(&file).args([RSS_LIMIT, TIMEOUT]).status()?;
    Ok(Tally::one(status.success()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        hex.chars().map(|digit| digit.to_digit(16).and_then(|n| u8::try_from(n).ok())).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_read_as_it_is_written() {
        assert_eq!(bytes(&hexadecimal(&[0, 0x7F, 0xFF])), Some(vec![0, 0x7F, 0xFF]));
        assert_eq!((bytes("0"), bytes("0g"), bytes("")), (None, None, Some(Vec::new())));
    }

    #[test]
    fn a_log_of_libfuzzer_is_understood() {
        let log = "#2\tINITED cov: 8 ft: 9 corp: 1/1b\n#30\tDONE   cov: 12 ft: 34 corp: 2/9b lim: 4\n\
                   stat::number_of_executed_units: 30\nstat::peak_rss_mb:              27\n";
        assert_eq!(summary(log, Duration::from_secs(2)), "30 executions in 2.00 s, 12 edges, 34 features, 27 MiB");
        let log = "thread '<unnamed>' panicked at a.rs:1:2:\nattempt to add\n==1== ERROR: libFuzzer: deadly signal\n";
        assert_eq!(failure_lines(log).len(), 3);
    }

    #[test]
    fn every_target_has_its_turn() {
        let of = |turn: u64| (0..TARGETS.len()).filter(|number| has_turn(turn, *number)).collect::<Vec<_>>();
        assert!((0..50).all(|turn| of(turn).len() == TURNS));
        let all: std::collections::BTreeSet<_> = (0..50).flat_map(of).collect();
        assert_eq!(all.len(), TARGETS.len());
    }
}
