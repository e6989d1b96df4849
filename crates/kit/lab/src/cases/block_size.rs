//! P5: clones on and between datastores of different block sizes.

use super::copies;
use crate::bench::{Bench, GIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::host::mounted;
use crate::outcome::{Outcome, Round};
use crate::paper;
use crate::results::{Paper, Unit};
use datastore::{DiskFormat, FormatOptions};

pub(super) const CASE: Case = Case {
    name: "block-size",
    title: "clones on datastores with blocks of 1 and 2 MiB, and between them",
    needs: &[Primitive::Move],
    second_unit: true,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "37 % less time with the smaller block size; between datastores of different block sizes hosts do the copy themselves";
    paper::paper(
        "P5, block sizes",
        paper::P5,
        words,
        vec![
            paper::ratio("seconds_1m_to_2m", Unit::Seconds, 1.0),
            paper::ratio("seconds_2m_to_1m", Unit::Seconds, 1.0),
        ],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let (first, second) = bench.two_places(outcome);
    let smaller = if first.blocks < second.blocks { first } else { second };
    let size = bench.fit(outcome, (512 * MIB, 40 * GIB), smaller, 3.1)?;
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let one = bench.datastore(&host, first, FormatOptions { block_bytes: MIB, ..few_files() }).await?;
        let two = bench.datastore(&host, second, FormatOptions { block_bytes: 2 * MIB, ..few_files() }).await?;
        let work = async {
            let mut round = Round::default();
            for (from, across, name, words) in [(&one, &two, "1m", "1m_to_2m"), (&two, &one, "2m", "2m_to_1m")] {
                bench.say("filling the disk");
                let format = DiskFormat::EagerZeroedThick;
                let (source, ledger) = bench.filled(from, (name, format, size), Base::full(bench.seed())).await?;
                for (to, copy) in [(from, name), (across, words)] {
                    bench.say(&format!("{}: cloning {copy}", side.word()));
                    let file = format!("clone-{copy}");
                    let part = copies::clone(bench, outcome, (&host, side), &source, (to, &file, format)).await?;
                    round.add_part(part, copy);
                    bench.check_disk(outcome, to, &file, &ledger).await?;
                    to.delete(&file).await?;
                }
                source.close().await?;
            }
            Ok(round)
        };
        let round = mounted(&[one.clone(), two.clone()], work).await?;
        outcome.add(side, round);
    }
    outcome.note("these hosts offload between different block sizes too: copies are by extent, not by block");
    let share = |side: &str| {
        let across = outcome.median(side, "seconds_1m_to_2m")?;
        Some(across / outcome.median(side, "seconds_1m")?)
    };
    let measured = share("on");
    outcome.at_most("seconds: on between block sizes at most twice that of one block size", measured, 2.0);
    Ok(())
}
