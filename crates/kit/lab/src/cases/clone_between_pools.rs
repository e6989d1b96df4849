//! P2: a machine cloned to another pool.

use super::copies;
use crate::bench::{Bench, GIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::host::mounted;
use crate::outcome::{Outcome, Round};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::DiskFormat;

pub(super) const CASE: Case = Case {
    name: "clone-between-pools",
    title: "a machine cloned to another logical unit, zeroed thick and eager zeroed thick",
    needs: &[Primitive::Move],
    second_unit: true,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a 30 GB VM cloned between two pools: zeroedthick 1:42 → 1:22, eagerzeroedthick 6:42 → 5:33; the host's IOPS −90 %";
    paper::paper(
        "P2, full copy",
        paper::P2,
        words,
        vec![
            paper::figure("seconds_zeroedthick", Unit::Seconds, paper::time(1, 42), paper::time(1, 22)),
            paper::figure("seconds_eagerzeroedthick", Unit::Seconds, paper::time(6, 42), paper::time(5, 33)),
            paper::ratio("commands_eagerzeroedthick", Unit::Count, 0.1),
        ],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let (first, second) = bench.two_places(outcome);
    let smaller = if first.blocks < second.blocks { first } else { second };
    let size = bench.fit(outcome, (GIB, 30 * GIB), smaller, 1.1)?;
    for (_, side) in bench.rounds(outcome) {
        let mut round = Round::default();
        for (format, word) in
            [(DiskFormat::ZeroedThick, "zeroedthick"), (DiskFormat::EagerZeroedThick, "eagerzeroedthick")]
        {
            let host = bench.host(1, side).await?;
            let one = bench.datastore(&host, first, few_files()).await?;
            let two = bench.datastore(&host, second, few_files()).await?;
            let stores = [one.clone(), two.clone()];
            let work = async {
                bench.say("filling a quarter of the machine's disk");
                let base = Base::Stamped { seed: bench.seed(), bytes: 4 * MIB, every: 16 * MIB };
                let (source, ledger) = bench.filled(&one, ("vm", format, size), base).await?;
                bench.say(&format!("{}: cloning it as {word}", side.word()));
                let mut part = copies::clone(bench, outcome, (&host, side), &source, (&two, "clone", format)).await?;
                source.close().await?;
                if let Some((commands, seconds)) = part.value("commands").zip(part.value("seconds")) {
                    let rate = commands / seconds.max(f64::MIN_POSITIVE);
                    part.put("commands_per_second", Unit::PerSecond, Better::Neither, rate);
                }
                bench.check_disk(outcome, &two, "clone", &ledger).await?;
                Ok(part)
            };
            round.add_part(mounted(&stores, work).await?, word);
        }
        outcome.add(side, round);
    }
    outcome.faster("seconds_eagerzeroedthick", 20.0);
    Ok(())
}
