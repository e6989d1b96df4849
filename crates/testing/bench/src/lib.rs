//! Benchmark kit: each file under `questions` asks one question, states workload, unit and
//! direction at the top, and has a small size that runs in seconds and a large one for measuring.
//!
//! Compared servers run in turn within each repetition, so that other load on the machine affects
//! all of them equally. Every read is compared with the written data, so a fast wrong answer is an
//! error and not a result. On a busy machine, processor time per operation and ratios within one
//! run are more stable than operations per second.
#![forbid(unsafe_code)]

mod command;
mod data;
mod floor;
mod ganesha;
mod latencies;
mod light;
mod load;
mod nfs;
mod questions;
mod raw;
mod report;
mod session;
pub mod targets;

use anyhow::{Context, Result, ensure};
use clap::Args;
use report::Report;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Benchmarks to run, and their parameters.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Run only the questions with these names; see `--list`.
    #[arg(value_name = "QUESTION")]
    pub only: Vec<String>,
    /// Print the questions and exit.
    #[arg(long)]
    pub list: bool,
    /// Small sizes and short runs: shows that everything works; the numbers are meaningless.
    #[arg(long)]
    pub small: bool,
    /// Repetitions of each load.
    #[arg(long, default_value_t = 5)]
    pub repeats: usize,
    /// Seconds that each load runs.
    #[arg(long, default_value_t = 5)]
    pub seconds: u64,
    /// Directory on the disk to measure.
    #[arg(long, default_value = "target", value_name = "DIR")]
    pub disk: PathBuf,
    /// Do not compare with tgt and NFS-Ganesha, even if they are installed.
    #[arg(long)]
    pub no_tgt: bool,
    /// Server that runs already, to load beside the array in `plain-io`: its name, its process id and
    /// a logical unit whose content may be overwritten. Or `ganesha`: `nfs` fails if it is not installed.
    #[arg(long, value_name = "NAME,PID,URL|ganesha", value_parser = targets::Peer::parse)]
    pub peer: Option<targets::Peer>,
    /// Serve the cheapest answers possible, which `plain-io` compares with.
    #[arg(long, hide = true)]
    pub serve_floor: bool,
    /// Write every repetition to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Options {
    /// Options for `cargo xtask ci`.
    pub fn small() -> Self {
        let disk = std::env::temp_dir();
        Self {
            only: Vec::new(),
            list: false,
            small: true,
            repeats: 1,
            seconds: 1,
            disk,
            no_tgt: true,
            peer: None,
            serve_floor: false,
            json: None,
        }
    }

    /// Time for which one load runs.
    fn time(&self) -> Duration {
        if self.small { Duration::from_millis(300) } else { Duration::from_secs(self.seconds) }
    }

    /// Number of repetitions, at least one.
    fn repetitions(&self) -> usize {
        if self.small { 1 } else { self.repeats.max(1) }
    }

    /// Whether NFS-Ganesha takes part.
    fn with_ganesha(&self) -> Result<bool> {
        let required = matches!(self.peer, Some(targets::Peer::Ganesha));
        let installed = ganesha::Ganesha::installed();
        ensure!(installed || !required, "NFS-Ganesha is not installed (Debian packages {})", ganesha::PACKAGES);
        Ok(installed && (required || !self.no_tgt))
    }

    /// Whether tgt takes part.
    fn with_tgt(&self) -> bool {
        !self.no_tgt && targets::Tgt::installed()
    }
}

/// Numbers of goals reached and missed. At small sizes goals are meaningless and not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Goals that were reached.
    pub reached: usize,
    /// Goals that were missed.
    pub missed: usize,
}

/// Names of all questions.
pub fn questions() -> impl Iterator<Item = &'static str> {
    questions::ALL.iter().map(|question| question.name)
}

/// Serves the cheapest answers possible, one connection after the other, until the process is ended
/// (`--serve-floor`).
pub fn serve_floor() -> Result<()> {
    floor::serve()
}

/// Measures the `windlass` program for each question and prints the answers; fails when a load
/// failed or read wrong data.
pub fn run(windlass: &Path, options: &Options) -> Result<Outcome> {
    if options.list {
        for question in questions::ALL {
            println!("{:12} {}", question.name, question.asks);
        }
        return Ok(Outcome::default());
    }
    for name in &options.only {
        let known = questions::ALL.iter().any(|question| question.name == name);
        ensure!(known, "there is no question {name}; see `cargo xtask bench --list`");
    }
    if !options.small && !options.no_tgt && !targets::Tgt::installed() {
        println!("tgt is not installed (Debian package tgt): no comparison with it");
    }
    if !options.small && !options.no_tgt && !ganesha::Ganesha::installed() {
        println!("NFS-Ganesha is not installed (Debian packages {}): no comparison with it", ganesha::PACKAGES);
    }
    let mut report = Report::default();
    for question in questions::ALL {
        if options.only.is_empty() || options.only.iter().any(|name| name == question.name) {
            println!("{}: {}", question.name, question.asks);
            (question.answer)(windlass, options, &mut report).with_context(|| format!("question {}", question.name))?;
        }
    }
    println!();
    for line in report.markdown() {
        println!("{line}");
    }
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&report.json())?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if options.small {
        return Ok(Outcome::default());
    }
    let reached = report.goals.iter().filter(|goal| goal.reached).count();
    Ok(Outcome { reached, missed: report.goals.len() - reached })
}
