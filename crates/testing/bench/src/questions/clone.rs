//! Does the time of a whole-volume clone or snapshot depend on the size of the volume? Mapped
//! volumes of three sizes, each cloned and snapshot several times by one administrative command,
//! pool on disk. The time of the command includes the start of the client program, so a command
//! that changes nothing is measured too. ms per command: lower is better. Small: 64 MiB. Large: 1,
//! 10, 100 GiB.

use super::{GIB, MIB, filled_volume, mapped_volume};
use crate::Options;
use crate::report::{Report, Spread, short};
use crate::targets::Windlass;
use anyhow::Result;
use std::path::Path;
use std::time::Instant;

pub(super) const ASKS: &str = "whole-volume clone and snapshot of different sizes, pool on disk";

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (seed_bytes, sizes, times) = if options.small { (16 * MIB, [1, 2, 4], 3) } else { (GIB, [1, 10, 100], 30) };
    let array = Windlass::start(windlass, &options.disk, "16G")?;
    let (_, mut seed) = filled_volume(&array, "seed", seed_bytes)?;
    let timed = |name: &str, arguments: &dyn Fn(usize) -> Vec<String>| -> Result<Spread> {
        let mut milliseconds = Vec::with_capacity(times);
        for index in 0..times {
            let arguments = arguments(index);
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            let started = Instant::now();
            array.array.command(&arguments)?;
            milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
        }
        let spread = Spread::of(milliseconds);
        println!("  {name}: p50 {} ms ({}–{})", short(spread.median), short(spread.least), short(spread.greatest));
        Ok(spread)
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let nothing = timed("a command that changes nothing", &|_| words(&["pool", "show", "p0"]))?;
    report.fact(format!("a command that changes nothing: p50 {} ms", short(nothing.median)));
    for copies in sizes {
        let size = text::size::format(seed_bytes * copies);
        let source = format!("source-{copies}");
        mapped_volume(&array, &source, &mut seed, seed_bytes, copies)?;
        let clone = timed(&format!("clone of {size}"), &|index| {
            words(&["volume", "clone", &source, &format!("clone-{copies}-{index}")])
        })?;
        let snapshot = timed(&format!("snapshot of {size}"), &|index| {
            words(&["snapshot", "create", &source, &format!("snapshot-{copies}-{index}")])
        })?;
        report.at_most(&format!("clone of {size}, p50 of the command"), clone.median, 10.0, "ms");
        report.at_most(&format!("snapshot of {size}, p50 of the command"), snapshot.median, 10.0, "ms");
    }
    Ok(())
}
