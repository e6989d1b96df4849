//! `cargo xtask ci`: formatting, lints, tests, documentation, dependencies, and the program in the
//! conformance suite, races, kills and the demo.
//!
//! The program is the one that `cargo test` has built: a failed debug assertion or an overflow
//! fails a step, and no second build is needed.
//!
//! Power cuts of a whole machine (`cargo xtask power-cut`) are not among the steps, because they
//! take minutes and need a guest.
//!
//! Each step is a process of this program and prints one line with its time. The output of its
//! programs goes to a file under `target/ci` and is printed on failure. An excerpt of each failure
//! is printed once more at the end, for readers who see only the end of the log.

mod excerpt;

use crate::tally::Tally;
use crate::{chaos, clients, conformance, dependencies, fuzz, kill, race, structure, suite, waits, workspace};
use anyhow::{Context, Result};
use clap::Args;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Steps to run.
#[derive(Args)]
pub(crate) struct Options {
    /// Steps to run, by name; see `--list`.
    #[arg(value_name = "STEP")]
    only: Vec<String>,
    /// Print the names of the steps and exit.
    #[arg(long)]
    list: bool,
}

/// Variable that names the compiler of the workspace's crates: `.ci/run` sets it to clippy.
const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";
/// Interval at which the output of a step is read.
const LOOK: Duration = Duration::from_millis(100);

/// Step of the run.
struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Tally>,
    /// Concurrency with other steps.
    beside: Beside,
    priority: Priority,
}

/// Concurrency of a step with other steps. None measures time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// The step after it starts when it has ended.
    Next,
    /// Later steps run at the same time: it waits much, or uses the time in which they wait.
    Others,
    /// It starts when all others have ended: it counts what the whole machine does.
    Alone,
}

/// Share of the processors that a step gets beside others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Priority {
    /// It has a fixed amount of work, and yields to steps that do what they can in a given time.
    Low,
    /// It waits much, or does what it can in a given time.
    Normal,
}

/// Running step: a process of `cargo xtask ci` with its name.
struct Running {
    name: &'static str,
    process: Child,
    log: PathBuf,
}

/// Step that has ended.
struct Ended {
    name: &'static str,
    tally: Tally,
    /// Excerpt of its failure; empty when it passed.
    excerpt: Vec<String>,
}

/// First what everything else needs, then the steps that run beside others, with those that leave
/// them processor time because they wait, then those that use all processors. The demo is last: it counts bytes on
/// the loopback interface, which tests use too.
const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        what: "the code is formatted as rustfmt formats it",
        run: || cargo("fmt", &["fmt", "--all", "--check"]),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "deps",
        what: "crates depend only on crates that the table allows",
        run: dependencies::run,
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "structure",
        what: "imports without cycles, private state",
        run: structure::run,
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "waits",
        what: "tests wait for conditions, not for time",
        run: waits::run,
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "build",
        what: "the program, with debug assertions and overflow checks",
        run: || cargo("build", &["test", "--workspace", "--lib", "--bins", "--tests", "--no-run"]),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "test",
        what: "unit, wire, state machine and crash tests",
        run: || cargo("test", &["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]),
        beside: Beside::Others,
        priority: Priority::Low,
    },
    Step {
        name: "console",
        what: "console/dist is what console/src builds; its lints and unit tests",
        run: console,
        beside: Beside::Others,
        priority: Priority::Low,
    },
    Step {
        name: "suite",
        what: "libiscsi's conformance suite",
        run: || suite::run(&workspace::checked()?, &suite::Options::default()),
        beside: Beside::Others,
        priority: Priority::Normal,
    },
    Step {
        name: "conformance",
        what: "the conformance kit: the behaviour that VMware's hosts rely on",
        run: || conformance::run(&workspace::checked()?, &conformance::Options::default()),
        beside: Beside::Next,
        priority: Priority::Normal,
    },
    Step {
        name: "clients",
        what: "third-party clients, and one that misbehaves",
        run: || clients::run(&workspace::checked()?, &clients::Options::short()),
        beside: Beside::Next,
        priority: Priority::Normal,
    },
    Step {
        name: "race",
        what: "no update is lost between initiators on two portals",
        run: || race::run(&workspace::checked()?, &race::Options::short()),
        beside: Beside::Next,
        priority: Priority::Normal,
    },
    Step {
        name: "kill",
        what: "kill -9 under a verifying load",
        run: || kill::run(&workspace::checked()?, &kill::Options::short()),
        beside: Beside::Next,
        priority: Priority::Normal,
    },
    Step {
        name: "chaos",
        what: "hostile initiators beside two well-behaved ones",
        run: || chaos::run(&workspace::checked()?, &chaos::Options::short()),
        beside: Beside::Next,
        priority: Priority::Normal,
    },
    Step {
        name: "bench",
        what: "a benchmark at its small size; the commit chooses it",
        run: small_benchmark,
        beside: Beside::Next,
        priority: Priority::Normal,
    },
    Step {
        name: "clippy",
        what: "no warning of rustc or clippy",
        run: lints,
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "doc",
        what: "the documentation builds without warnings",
        run: documentation,
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "loom",
        what: "mailboxes between threads, in all interleavings",
        run: loom,
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "sim",
        what: "seeded crashes of the simulated array",
        run: || simulate::run(&simulate::Options::short()),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "whole",
        what: "seeds of the whole array in virtual time, and that they notice rules of its glue that are left out",
        run: || [simulate::Options::whole(), simulate::Options::whole_mutants()].iter().map(simulate::run).sum(),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "nfs",
        what: "seeds of the NFS server with its clients in virtual time, and that they notice rules that are left out",
        run: || simulate::Options::nfs().iter().map(simulate::run).sum(),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "pair",
        what: "seeds of replication between two arrays, and that they notice rules that are left out",
        run: || simulate::Options::pair().iter().map(simulate::run).sum(),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "faults",
        what: "disks that fail, lie and rot; the n-th failure; short sequences in all crash states; damage in every structure",
        run: || simulate::Options::others().iter().map(simulate::run).sum(),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "mutants",
        what: "the simulation notices each rule of the engine that is left out",
        run: || simulate::run(&simulate::Options::mutants()),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "fuzz",
        what: "two fuzz targets under hostile input; the commit chooses them",
        run: || fuzz::run(&fuzz::Options::default()),
        beside: Beside::Next,
        priority: Priority::Low,
    },
    Step {
        name: "demo",
        what: "the demo, with all its checks",
        run: demo,
        beside: Beside::Alone,
        priority: Priority::Normal,
    },
];

/// Runs the steps and adds up their results. Continues after a failed step, except after a failed
/// build.
pub(crate) fn run(options: &Options) -> Result<Tally> {
    if options.list {
        for step in STEPS {
            println!("{:11} {}", step.name, step.what);
        }
        return Ok(Tally::default());
    }
    for name in &options.only {
        anyhow::ensure!(
            STEPS.iter().any(|step| step.name == name),
            "there is no step {name}; see `cargo xtask ci --list`"
        );
    }
    let chosen: Vec<_> = STEPS
        .iter()
        .filter(|step| options.only.is_empty() || options.only.iter().any(|name| name == step.name))
        .collect();
    if let [step] = chosen[..] {
        return Ok(by_itself(step));
    }
    let started = Instant::now();
    let mut ended = Vec::new();
    let mut beside: Vec<Running> = Vec::new();
    let (alone, others): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|step| step.beside == Beside::Alone);
    let is_built = |ended: &[Ended]| !ended.iter().any(|step| step.name == "build" && step.tally.failed > 0);
    let start =
        |step: &Step| Running::start(step).map_err(|error| Ended::without_result(step.name, format!("{error:#}")));
    for step in others {
        match start(step) {
            Ok(running) if step.beside == Beside::Others => beside.push(running),
            Ok(running) => ended.push(running.end()),
            Err(failed) => ended.push(failed),
        }
        if !is_built(&ended) {
            println!("without it the remaining steps cannot run");
            break;
        }
    }
    ended.extend(beside.drain(..).map(|running| running.end()));
    if is_built(&ended) {
        ended.extend(alone.into_iter().map(|step| start(step).map_or_else(|failed| failed, Running::end)));
    }
    println!("all in {}", text::duration::measured(started.elapsed()));
    let failed: Vec<_> = ended.iter().filter(|step| step.tally.failed > 0).collect();
    for step in &failed {
        println!("failed: {}", step.name);
        for line in &step.excerpt {
            println!("  {line}");
        }
    }
    Ok(ended.iter().map(|step| step.tally).sum())
}

/// Runs one step in this process.
fn by_itself(step: &Step) -> Tally {
    println!("{:11} {}", step.name, step.what);
    let started = Instant::now();
    let tally = (step.run)().unwrap_or_else(|error| {
        println!("error: {error:#}");
        Tally::one(false)
    });
    let verdict = if tally.failed == 0 { "ok" } else { "FAILED" };
    println!("{:11} {verdict}: {tally}, {}", step.name, text::duration::measured(started.elapsed()));
    tally
}

impl Running {
    fn start(step: &Step) -> Result<Self> {
        let name = step.name;
        let directory = workspace::target().join("ci");
        std::fs::create_dir_all(&directory)?;
        let log = directory.join(format!("{name}.step.log"));
        let file = File::create(&log)?;
        let program = std::env::current_exe()?;
        let mut command = match step.priority {
            Priority::Low => yielding(program),
            Priority::Normal => Command::new(program),
        };
        command.args(["ci", name]).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        Ok(Self { name, process: command.spawn().context("cannot run this program once more")?, log })
    }

    /// Prints the output of the step until it has ended.
    fn end(self) -> Ended {
        let name = self.name;
        self.result().unwrap_or_else(|error| Ended::without_result(name, format!("{error:#}")))
    }

    fn result(mut self) -> Result<Ended> {
        let mut log = BufReader::new(File::open(&self.log)?);
        let mut output = Vec::new();
        let status = loop {
            // The status is read first, so that no output is missed.
            let status = self.process.try_wait()?;
            let printed = output.len();
            log.read_to_end(&mut output)?;
            print_lines(&output[printed..]);
            if let Some(status) = status {
                break status;
            }
            std::thread::sleep(LOOK);
        };
        let output = String::from_utf8_lossy(&output);
        let tally = output.lines().rev().find_map(Tally::of_line);
        let tally = tally.with_context(|| format!("{} ended ({status}) without a result", self.name))?;
        let tally = Tally { failed: tally.failed.max(usize::from(!status.success())), ..tally };
        let excerpt = if tally.failed == 0 { Vec::new() } else { excerpt::of(&output) };
        Ok(Ended { name: self.name, tally, excerpt })
    }
}

impl Ended {
    /// Result of a step that could not be started, or ended without a tally.
    fn without_result(name: &'static str, why: String) -> Self {
        println!("{name:11} {why}");
        Self { name, tally: Tally::one(false), excerpt: vec![why] }
    }
}

/// Prints the output of a step, without its tally, which is for this program.
fn print_lines(printed: &[u8]) {
    for line in String::from_utf8_lossy(printed).split_inclusive('\n') {
        if Tally::of_line(line.trim_end()).is_none() {
            print!("{line}");
        }
    }
    // Readers follow the output.
    let _ = std::io::stdout().flush();
}

/// Command that runs a program with low priority.
fn yielding(program: PathBuf) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "10"]).arg(program);
    command
}

/// Runs cargo; the tally is that of its tests, or one check for its exit status.
fn cargo(name: &str, arguments: &[&str]) -> Result<Tally> {
    let mut command = workspace::cargo();
    command.args(arguments);
    logged(name, command)
}

/// Clippy over everything. Where it was the compiler of the build, which then denied its warnings, only what the tests
/// do not need is left to it.
fn lints() -> Result<Tally> {
    let is_compiler = std::env::var_os(WRAPPER).is_some_and(|compiler| Path::new(&compiler).ends_with("clippy-driver"));
    if is_compiler {
        return cargo("clippy", &["build", "--workspace", "--examples", "--quiet"]);
    }
    cargo("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
}

/// Builds the documentation; a warning is an error. It compiles what is shipped, which cannot leave rules out: all
/// other steps build the simulations with their feature `mutations`.
fn documentation() -> Result<Tally> {
    let mut command = workspace::cargo();
    command
        .args(["doc", "--workspace", "--no-deps", "--no-default-features", "--quiet"])
        .env("RUSTDOCFLAGS", "-D warnings");
    command.env_remove(WRAPPER);
    logged("doc", command)
}

/// Runs the tests of `mailbox` under loom, in a target directory of their own: its dependencies are
/// built with another configuration.
fn loom() -> Result<Tally> {
    let mut command = workspace::cargo();
    command.args(["test", "--package", "mailbox", "--lib", "--target-dir", "target/loom"]);
    command.env("RUSTFLAGS", "--cfg loom").env_remove(WRAPPER);
    logged("loom", command)
}

/// Builds the web console again and compares it. The tests in a browser are `make console-check`.
fn console() -> Result<Tally> {
    let mut command = Command::new("sh");
    command.args(["-ec", "scripts/need console; scripts/console compare"]).current_dir(workspace::root());
    logged("console", command)
}

/// Runs the demo, without the part that waits for a person.
fn demo() -> Result<Tally> {
    let mut command = Command::new(workspace::checked()?);
    command.args(["demo", "--once"]);
    logged("demo", command)
}

/// Runs one of the benchmarks, in rotation, at its small size. Its numbers are meaningless; the test is that it runs.
fn small_benchmark() -> Result<Tally> {
    let (words, turn) = workspace::turn();
    let questions: Vec<_> = bench::questions().collect();
    let chosen = usize::try_from(turn % questions.len().max(1) as u64)?;
    let only: Vec<_> = questions.get(chosen).map(|name| (*name).to_owned()).into_iter().collect();
    println!("  {words}: {}", only.join(""));
    bench::run(&workspace::checked()?, &bench::Options { only, ..bench::Options::small() })?;
    Ok(Tally::one(true))
}

/// Runs a program with its output in `target/ci/NAME.log`.
fn logged(name: &str, mut command: Command) -> Result<Tally> {
    let directory = workspace::target().join("ci");
    std::fs::create_dir_all(&directory)?;
    let path = directory.join(format!("{name}.log"));
    let file = File::create(&path)?;
    command.stdout(file.try_clone()?).stderr(file);
    let status = command.status().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let output = read(&path)?;
    if !status.success() {
        for line in excerpt::of(&output) {
            println!("  {line}");
        }
        println!("  (all of it: {})", path.display());
    }
    let mut tally = Tally::of_cargo_test(&output).unwrap_or_else(|| Tally::one(status.success()));
    if !status.success() && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

/// Reads a log as text.
fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
