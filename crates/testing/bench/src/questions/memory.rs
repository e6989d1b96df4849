//! Does memory stay bounded with many large volumes? A mapped template is cloned repeatedly; some
//! clones are then read and written at random. Highest resident memory of the process in MiB: lower
//! is better. Small: 20 clones of 256 MiB. Large: 1 000 clones of 64 GiB, 200 of them used.

use super::small_io::{Subject, random_io};
use super::{GIB, MIB, filled_volume, mapped_volume};
use crate::Options;
use crate::data::BLOCK_BYTES;
use crate::load::End;
use crate::report::Report;
use crate::session::Session;
use crate::targets::Windlass;
use anyhow::Result;
use array_process::observe;
use random::Random;
use std::path::Path;
use std::time::Duration;

pub(super) const ASKS: &str = "resident memory with many clones of a large template, pool on disk";

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (seed_bytes, copies, clones, used) = if options.small { (64 * MIB, 4, 20, 4) } else { (GIB, 64, 1000, 200) };
    let array = Windlass::start(windlass, &options.disk, "32G")?;
    let pid = array.array.pid();
    let (_, mut seed) = filled_volume(&array, "seed", seed_bytes)?;
    mapped_volume(&array, "template", &mut seed, seed_bytes, copies)?;
    let used_before = array.array.pool_number("used_bytes")?;
    for index in 0..clones {
        array.array.command(&["volume", "clone", "template", &format!("clone-{index}")])?;
    }
    let used_after = array.array.pool_number("used_bytes")?;
    let resident = observe::memory(pid)?.resident_bytes;
    report.fact(format!(
        "{clones} clones of {}: pool {}, resident {}",
        text::size::format(seed_bytes * copies),
        text::size::change(used_before, used_after),
        text::size::format(resident)
    ));
    let blocks = seed_bytes / BLOCK_BYTES;
    let time = Duration::from_millis(200);
    let random = Random::new(1);
    for index in 0..used {
        let volume = array.array.publish_volume(&format!("clone-{index}"))?;
        let mut subject = Subject { name: "windlass", pid, session: Session::connect(volume.url())? };
        random_io(&mut subject, blocks, true, 8, End::After(time), random.below(1000))?;
        random_io(&mut subject, blocks, false, 8, End::After(time), random.below(1000))?;
    }
    let memory = observe::memory(pid)?;
    report.fact(format!(
        "after reading and writing {used} of them: resident {}",
        text::size::format(memory.resident_bytes)
    ));
    report.at_most("most memory ever resident", memory.peak_resident_bytes as f64 / MIB as f64, 512.0, "MiB");
    Ok(())
}
