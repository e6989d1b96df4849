//! How fast is the pool's engine alone, without network and protocols? `pool/examples/engine` runs
//! it on a file near the pool directory of the other questions, and in memory. The disk's own rate
//! is that of the same requests made directly, in turn with the engine's. Each number has its unit
//! and direction. Small: a few seconds each, sizes that fit everywhere.

use super::pool_example;
use crate::Options;
use crate::report::{Report, Spread, short};
use crate::targets::memory_directory;
use anyhow::{Context, Result, ensure};
use array_process::program;
use std::path::Path;
use std::time::Duration;

pub(super) const ASKS: &str = "the engine alone: beside the disk's own rate, metadata, clones, 100 TiB, deletion";

const LIMIT: Duration = Duration::from_secs(1800);

/// Values of one run: name and value, in order of output.
struct Answers(Vec<(String, f64)>);

impl Answers {
    fn of(&self, name: &str) -> Result<Spread> {
        let values: Vec<f64> = self.0.iter().filter(|(found, _)| found == name).map(|(_, value)| *value).collect();
        ensure!(!values.is_empty(), "the engine did not say {name}");
        Ok(Spread::of(values))
    }
}

pub(super) fn answer(_windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let example = pool_example("engine", options, LIMIT)?;
    let ask = |words: &[&str]| -> Result<Answers> {
        let output = program::require(&example, words, LIMIT)?;
        let lines = output.stdout.lines().map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap_or_default().to_owned();
            Ok((name, words.next().context("a value is missing")?.parse()?))
        });
        Ok(Answers(lines.collect::<Result<_>>()?))
    };
    let disk = options.disk.display().to_string();
    let memory = memory_directory()?.display().to_string();
    let seconds = if options.small { "0.3" } else { "5" };

    let found = ask(&["write", &disk, seconds])?;
    report.fact(format!(
        "engine, random durable 4 KiB writes at depth 32, a burst: {} a second in {} log writes; the disk's own rate of such log writes: {}",
        short(found.of("burst-writes")?.median),
        short(found.of("burst-frames")?.median),
        short(found.of("own-frames")?.median)
    ));
    report.at_least(
        "log writes of the engine in a burst, beside the disk's own of the same size",
        found.of("burst-ratio")?.median,
        0.85,
        "×",
    );
    report.fact(format!(
        "the same without end, each also written to its place: {} a second; the disk's own random durable 4 KiB writes: {}",
        short(found.of("sustained-writes")?.median),
        short(found.of("own-writes")?.median)
    ));
    report.at_least(
        "durable writes of the engine without end, beside the disk's own",
        found.of("sustained-ratio")?.median,
        0.85,
        "×",
    );

    let found = ask(&["read", &disk, seconds])?;
    report.fact(format!(
        "engine, random 4 KiB reads at depth 32: {} a second; io_uring alone: {}",
        short(found.of("engine-reads")?.median),
        short(found.of("own-reads")?.median)
    ));
    report.at_least("reads of the engine, beside io_uring alone", found.of("ratio")?.median, 0.9, "×");

    let (gib, count) = if options.small { ("1", "50000") } else { ("100", "3000000") };
    let found = ask(&["metadata", gib, count])?;
    report
        .fact(format!("{count} random overwrites over {gib} GiB, log of {} MiB", short(found.of("log-size")?.median)));
    report.at_most("metadata written by a random 4 KiB overwrite", found.of("metadata-per-write")?.median, 1024.0, "B");

    let (clones, mib) = if options.small { ("16", "8") } else { ("512", "200") };
    let found = ask(&["clones", clones, mib])?;
    report.at_most(
        &format!("space of {clones} clones that each wrote {mib} MiB in 4 KiB, beside what they wrote"),
        found.of("used-by-clones")?.median,
        1.03,
        "×",
    );

    let (gib, mapped) = if options.small { ("64", "1024") } else { ("102400", "10240") };
    let found = ask(&["large", &memory, gib, mapped])?;
    report.at_most(
        "resident memory beyond the setting, pool of 100 TiB with 10 TiB mapped by clones",
        found.of("resident-beyond-setting")?.median,
        300.0,
        "MiB",
    );
    report.at_most("opening it after a clean end", found.of("open-after-clean-end")?.median, 0.5, "s");
    if !options.small {
        let found = ask(&["crash", &memory])?;
        report.at_most("opening after a crash, a GiB of log", found.of("open-after-a-crash")?.median, 2.0, "s");
    }

    let found = ask(&["delete", &memory, if options.small { "16" } else { "1024" }])?;
    report.at_most(
        "deletion of a volume of 1 TiB returns after",
        found.of("delete-returns-own-leaves")?.median,
        10.0,
        "ms",
    );
    report.at_least(
        "mapped address space given back, all map pages its own",
        found.of("reclaim-own-leaves")?.median,
        100.0,
        "GiB/s",
    );
    Ok(())
}
