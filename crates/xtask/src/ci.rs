//! `cargo xtask ci`: formatting, lints, tests, documentation, dependencies, the release build, and the release build under the
//! conformance suite, races, kills and the demo.
//!
//! Power cuts of a whole machine (`cargo xtask power-cut`) take minutes and want a guest, and are not among the steps.
//!
//! Each step prints one line with its time. The output of a program goes to a file under `target/ci` and is shown when it fails.

use crate::tally::Tally;
use crate::{clients, conformance, dependencies, kill, race, simulate, suite, workspace};
use anyhow::{Context, Result};
use clap::Args;
use harness::text;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What to run.
#[derive(Args)]
pub(crate) struct Options {
    /// Only the steps with these names; see `--list`.
    #[arg(value_name = "STEP")]
    only: Vec<String>,
    /// Print the names of the steps and do nothing.
    #[arg(long)]
    list: bool,
}

/// One step.
struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Tally>,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", what: "the code has the house's format", run: || cargo("fmt", &["fmt", "--all", "--check"]) },
    Step { name: "deps", what: "crates depend only on what they may", run: dependencies::run },
    Step {
        name: "clippy",
        what: "no warning of rustc or clippy",
        run: || cargo("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    },
    Step {
        name: "test",
        what: "unit, wire, state machine and crash tests",
        run: || cargo("test", &["test", "--workspace", "--no-fail-fast"]),
    },
    Step {
        name: "doc",
        what: "the documentation builds without warnings",
        run: || cargo("doc", &["doc", "--workspace", "--no-deps", "--quiet"]),
    },
    Step {
        name: "sim",
        what: "seeded crashes of the simulated array",
        run: || simulate::run(&simulate::Options::short()),
    },
    Step {
        name: "faults",
        what: "disks that fail, lie and rot; the n-th failure; short sequences in all crash states; damage in every structure",
        run: || simulate::Options::others().iter().map(simulate::run).sum(),
    },
    Step {
        name: "mutants",
        what: "the simulation notices each rule of the engine that is left out",
        run: || simulate::run(&simulate::Options::mutants()),
    },
    Step {
        name: "build",
        what: "the release build",
        run: || cargo("build", &["build", "--release", "--package", "windlass"]),
    },
    Step {
        name: "suite",
        what: "libiscsi's conformance suite",
        run: || suite::run(&workspace::windlass(None)?, &suite::Options::default()),
    },
    Step {
        name: "conformance",
        what: "our own conformance kit: what VMware's hosts rely on",
        run: || conformance::run(&workspace::windlass(None)?, &conformance::Options::default()),
    },
    Step {
        name: "clients",
        what: "clients of others, and one that misbehaves",
        run: || clients::run(&workspace::windlass(None)?, &clients::Options::short()),
    },
    Step {
        name: "race",
        what: "no update is lost between initiators on two portals",
        run: || race::run(&workspace::windlass(None)?, &race::Options::short()),
    },
    Step {
        name: "kill",
        what: "kill -9 under a verifying load",
        run: || kill::run(&workspace::windlass(None)?, &kill::Options::short()),
    },
    Step { name: "demo", what: "the demo, every check of it", run: demo },
    Step { name: "bench", what: "every benchmark runs, at its small size", run: small_benchmarks },
];

/// Runs the steps and adds up what they found. Goes on after a failed step, except that nothing is run without a release build.
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
    let started = Instant::now();
    let mut sum = Tally::default();
    let mut failed = Vec::new();
    for step in STEPS.iter().filter(|step| options.only.is_empty() || options.only.iter().any(|name| name == step.name))
    {
        println!("{:11} {}", step.name, step.what);
        let step_started = Instant::now();
        let tally = (step.run)().unwrap_or_else(|error| {
            println!("{error:#}");
            Tally { passed: 0, failed: 1 }
        });
        let verdict = if tally.failed == 0 { "ok" } else { "FAILED" };
        println!("{:11} {verdict}: {tally}, {}", step.name, text::duration(step_started.elapsed()));
        sum += tally;
        if tally.failed > 0 {
            failed.push(step.name);
            if step.name == "build" {
                println!("without a release build the remaining steps cannot run");
                break;
            }
        }
    }
    println!("all in {}", text::duration(started.elapsed()));
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    Ok(sum)
}

/// Runs cargo; the tally is that of its tests, or one for its exit status.
fn cargo(name: &str, arguments: &[&str]) -> Result<Tally> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace::root()).env("RUSTDOCFLAGS", "-D warnings");
    logged(name, command)
}

/// The demo of the release build, without the part that waits for a person.
fn demo() -> Result<Tally> {
    let mut command = Command::new(workspace::windlass(None)?);
    command.args(["demo", "--once"]);
    logged("demo", command)
}

/// All benchmarks at their small size. Its numbers mean nothing; that it runs does.
fn small_benchmarks() -> Result<Tally> {
    bench::run(&workspace::windlass(None)?, &bench::Options::small())?;
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
        let lines: Vec<_> = output.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(80)) {
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

/// A log as text.
fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
