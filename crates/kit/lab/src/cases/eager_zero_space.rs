//! P2: space of a thin volume that an eager-zeroed disk takes.

use super::zeroing;
use crate::bench::{Bench, GIB, data_of, few_files};
use crate::case::{Case, Primitive};
use crate::content::{Base, Ledger};
use crate::error::LabError;
use crate::host::mounted;
use crate::outcome::Outcome;
use crate::paper;
use crate::results::{Better, Paper, Unit};

pub(super) const CASE: Case = Case {
    name: "eager-zero-space",
    title: "space that an eager-zeroed disk takes on a thin volume",
    needs: &[Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a 30 GB eagerzeroedthick disk on a thin volume: 31 GB → 1 GB consumed; 85 % less time";
    paper::paper(
        "P2, block zeroing",
        paper::P2,
        words,
        vec![
            paper::figure("consumed_share", Unit::Ratio, 31.0 / 30.0, 1.0 / 30.0),
            paper::ratio("seconds", Unit::Seconds, 0.15),
        ],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (2 * GIB, 30 * GIB), place, 1.05)?;
    if bench.space(place).await?.is_unknown() {
        let words = "the array does not report consumed space: no GET LBA STATUS, and no log page 0Ch";
        return Err(LabError::Impossible(words.into()));
    }
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            let place = data_of(place, &store);
            let before = bench.settled_space(place).await?;
            bench.say(&format!("{}: creating an eager-zeroed disk", side.word()));
            let mut round = zeroing::create(bench, outcome, (&host, side), &store, ("disk", size)).await?;
            let after = bench.settled_space(place).await?;
            let (mapped, taken) = (after.mapped_since(&before), after.taken_since(&before));
            for (name, bytes) in [("mapped_bytes", mapped), ("pool_bytes", taken)] {
                if let Some(bytes) = bytes {
                    round.put(name, Unit::Bytes, Better::Lower, bytes);
                }
            }
            // Space of the pool is what was bought; if it is not reported, the unit's mapped space
            // is used.
            match (taken, mapped) {
                (Some(bytes), _) => {
                    zeroing::put_share(&mut round, "consumed_share", bytes, size);
                    outcome.note(format!(
                        "consumed_share is of the pool, from log page 0Ch, to {}",
                        text::size::format(after.grain)
                    ));
                }
                (None, Some(bytes)) => {
                    zeroing::put_share(&mut round, "consumed_share", bytes, size);
                    outcome.note("consumed_share is the share that GET LBA STATUS reports as mapped; the array has no log page 0Ch");
                }
                (None, None) => {}
            }
            bench.check_disk(outcome, &store, "disk", &Ledger::new(0, Base::Zeros)).await?;
            Ok(round)
        };
        let round = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
    }
    let measured = outcome.median("on", "consumed_share");
    outcome.at_most("consumed_share: on less than 1 % of the disk", measured, 0.01);
    Ok(())
}
