//! P3: space that is freed when a disk moves away.

use super::copies;
use crate::bench::{Bench, GIB, data_of, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::host::mounted;
use crate::outcome::Outcome;
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::DiskFormat;

pub(super) const CASE: Case = Case {
    name: "thin-reclaim",
    title: "a disk moves away from a thin volume; the share of its space that is freed",
    needs: &[Primitive::Unmap],
    second_unit: true,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a 200 GB thin volume, 50 GB written and moved away by Storage vMotion: no space is freed until a zero-filled disk is created and deleted by hand (unit of 1 GB)";
    paper::paper(
        "P3, thin provisioning",
        paper::P3,
        words,
        vec![paper::figure("returned_share", Unit::Ratio, 0.0, 1.0)],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let (first, second) = bench.two_places(outcome);
    let smaller = if first.blocks < second.blocks { first } else { second };
    let size = bench.fit(outcome, (512 << 20, 50 * GIB), smaller, 1.1)?;
    if bench.space(first).await?.mapped.is_none() {
        return Err(LabError::Impossible("the array does not report its mapped blocks (GET LBA STATUS)".into()));
    }
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let one = bench.datastore(&host, first, few_files()).await?;
        let two = bench.datastore(&host, second, few_files()).await?;
        let work = async {
            let first = data_of(first, &one);
            let before = bench.settled_space(first).await?;
            bench.say("writing a thin disk");
            let base = Base::full(bench.seed());
            let (source, ledger) = bench.filled(&one, ("vm", DiskFormat::Thin, size), base).await?;
            let written = bench.settled_space(first).await?;
            bench.say(&format!("{}: moving it to the other datastore", side.word()));
            let mut round =
                copies::clone(bench, outcome, (&host, side), &source, (&two, "vm", DiskFormat::Thin)).await?;
            source.close().await?;
            let begun = bench.clock.now();
            one.delete("vm").await?;
            let seconds = bench.clock.now().saturating_sub(begun).as_secs_f64();
            round.put("delete_seconds", Unit::Seconds, Better::Lower, seconds);
            let after = bench.settled_space(first).await?;
            if let Some((taken, kept)) = written.mapped_since(&before).zip(after.mapped_since(&before)) {
                if bench.can_free(first) {
                    outcome.check_freed(side, size, taken, kept);
                }
                round.put("written_bytes", Unit::Bytes, Better::Neither, taken);
                round.put("kept_bytes", Unit::Bytes, Better::Lower, kept);
                if taken > 0.0 {
                    round.put("returned_share", Unit::Ratio, Better::Higher, 1.0 - kept / taken);
                }
            }
            if let Some(bytes) = after.taken_since(&before) {
                round.put("pool_bytes", Unit::Bytes, Better::Lower, bytes);
            }
            bench.check_disk(outcome, &two, "vm", &ledger).await?;
            bench.check_store(outcome, &one).await?;
            Ok(round)
        };
        let round = mounted(&[one.clone(), two.clone()], work).await?;
        outcome.add(side, round);
    }
    outcome.note("off: the host deletes without UNMAP; shares are from GET LBA STATUS of the range that the disk left");
    let measured = outcome.median("on", "returned_share");
    outcome.at_least("returned_share: on at least 99.9 % of the written bytes", measured, 0.999);
    Ok(())
}
