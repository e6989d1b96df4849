//! P5: processor time of the host for a clone.

use super::copies;
use crate::bench::{Bench, GIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::host::mounted;
use crate::outcome::Outcome;
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::DiskFormat;

pub(super) const CASE: Case = Case {
    name: "clone-cpu",
    title: "a clone of a powered-off machine's disk, and the host's processor time",
    needs: &[Primitive::Move],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a powered-off VM cloned on one datastore: 8:14 → 6:14; the host's CPU 16 % → 0.3 %";
    paper::paper(
        "P5, full copy",
        paper::P5,
        words,
        vec![
            paper::figure("seconds", Unit::Seconds, paper::time(8, 14), paper::time(6, 14)),
            paper::figure("host_cpu_share", Unit::Ratio, 0.16, 0.003),
        ],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (GIB, 40 * GIB), place, 2.05)?;
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            bench.say("filling the machine's disk");
            let base = Base::full(bench.seed());
            let (source, ledger) = bench.filled(&store, ("vm", DiskFormat::ZeroedThick, size), base).await?;
            bench.say(&format!("{}: cloning", side.word()));
            let to = (&store, "clone", DiskFormat::ZeroedThick);
            let mut round = copies::clone(bench, outcome, (&host, side), &source, to).await?;
            source.close().await?;
            let share = round.value("host_cpu_seconds").zip(round.value("seconds"));
            if let Some((processor, seconds)) = share {
                let share = processor / seconds.max(f64::MIN_POSITIVE);
                round.put("host_cpu_share", Unit::Ratio, Better::Lower, share);
            }
            bench.check_disk(outcome, &store, "clone", &ledger).await?;
            Ok(round)
        };
        let round = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
    }
    outcome.note("host_cpu_share is of one processor, while the clone runs: a short one keeps a processor as busy as a long one, so compare the seconds");
    let measured = outcome.ratio("host_cpu_seconds", "on", "off");
    outcome.at_most("host_cpu_seconds: on at most 5 % of off", measured, 0.05);
    Ok(())
}
