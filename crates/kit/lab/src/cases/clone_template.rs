//! P1, XCOPY 1: a virtual machine from a template.

use super::copies;
use crate::bench::{Bench, GIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::host::mounted;
use crate::outcome::Outcome;
use crate::paper;
use crate::results::{Paper, Unit};
use datastore::DiskFormat;

pub(super) const CASE: Case = Case {
    name: "clone-template",
    title: "a new eager-zeroed disk from a full template on the same datastore",
    needs: &[Primitive::Move],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "100 GB eagerzeroedthick template, new VM in the same format, three times: 14 % less time; host adapter traffic of about 245 MB/s each way → none";
    paper::paper(
        "P1, XCOPY 1",
        paper::P1,
        words,
        vec![paper::ratio("seconds", Unit::Seconds, 0.86), paper::ratio("wire_bytes", Unit::Bytes, 0.0)],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (GIB, 100 * GIB), place, 2.05)?;
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            bench.say("filling the template");
            let base = Base::full(bench.seed());
            let (template, ledger) =
                bench.filled(&store, ("template", DiskFormat::EagerZeroedThick, size), base).await?;
            bench.say(&format!("{}: cloning the template", side.word()));
            let to = (&store, "vm", DiskFormat::EagerZeroedThick);
            let round = copies::clone(bench, outcome, (&host, side), &template, to).await?;
            template.close().await?;
            bench.check_disk(outcome, &store, "vm", &ledger).await?;
            bench.check_store(outcome, &store).await?;
            Ok(round)
        };
        let round = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
    }
    outcome.faster("seconds", 20.0);
    outcome.off_the_wire();
    Ok(())
}
