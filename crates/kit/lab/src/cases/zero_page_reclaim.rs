//! P2: the zeros of a disk unmapped.

use super::copies;
use crate::bench::{Bench, GIB, KIB, MIB, data_of, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::host::mounted;
use crate::outcome::{Outcome, Side};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::DiskFormat;

pub(super) const CASE: Case = Case {
    name: "zero-page-reclaim",
    title: "a disk with little data converted to eager-zeroed, and its zeros freed",
    needs: &[Primitive::Move, Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words =
        "a 100 GB disk with 8 GB used, converted to eagerzeroedthick, then zero page reclaim: 100 → 8 GB, 92 GB freed";
    paper::paper(
        "P2, zero page reclaim",
        paper::P2,
        words,
        vec![
            paper::figure("consumed_after_share", Unit::Ratio, 1.0, 0.08),
            paper::figure("freed_share", Unit::Ratio, 0.0, 1.0),
        ],
    )
}

/// 4 KiB of data in every 48 KiB: 8 % of the disk, and no run of zeros longer than 44 KiB.
const DATA: u64 = 4 * KIB;
const EVERY: u64 = 48 * KIB;

/// Number of bytes of a disk that hold data.
fn data_bytes(size: u64) -> u64 {
    size / EVERY * DATA + (size % EVERY).min(DATA)
}

/// Checks the mapped space: at least the data is mapped, before and after, and UNMAP frees some of
/// the mapped zeros.
fn check_space(outcome: &mut Outcome, side: Side, size: u64, (converted, after): (f64, f64)) {
    let data = data_bytes(size) as f64;
    let bytes = |bytes: f64| text::size::format(bytes.max(0.0) as u64);
    if converted.min(after) < 0.99 * data {
        outcome.fail(format!(
            "{}: GET LBA STATUS reports {} of the disk as mapped, which holds {} of data",
            side.word(),
            bytes(converted.min(after)),
            bytes(data)
        ));
    } else if side == Side::On && converted > 1.01 * data && after > 0.99 * converted {
        let zeros = bytes(converted - data);
        outcome.fail(format!("UNMAP of {zeros} of zeros ended with GOOD, but freed nothing"));
    }
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (512 * MIB, 100 * GIB), place, 2.05)?;
    if bench.space(place).await?.mapped.is_none() {
        return Err(LabError::Impossible("the array does not report its mapped blocks (GET LBA STATUS)".into()));
    }
    let reads_zeros = bench.reads_zeros().await?;
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            let place = data_of(place, &store);
            let before = bench.settled_space(place).await?;
            bench.say("writing 4 KiB in every 48 KiB");
            let base = Base::Stamped { seed: bench.seed(), bytes: DATA, every: EVERY };
            let (source, ledger) = bench.filled(&store, ("vm", DiskFormat::ZeroedThick, size), base).await?;
            bench.say(&format!("{}: converting to eager-zeroed thick", side.word()));
            let to = (&store, "converted", DiskFormat::EagerZeroedThick);
            let mut round = copies::clone(bench, outcome, (&host, side), &source, to).await?;
            source.close().await?;
            store.delete("vm").await?;
            let converted = bench.settled_space(place).await?;
            let share = |now: Option<f64>| now.map(|bytes| bytes.max(0.0) / size as f64);
            if let Some(share) = share(converted.mapped_since(&before)) {
                round.put("consumed_converted_share", Unit::Ratio, Better::Lower, share);
            }
            // Zeros are unmapped only if unmapped blocks read as zeros; otherwise the content would
            // change.
            if reads_zeros {
                bench.say(&format!("{}: finding zeros and freeing them", side.word()));
                let begun = bench.clock.now();
                let disk = store.open("converted").await?;
                let given = disk.unmap_zeros(&bench.progress(size)).await?;
                disk.close().await?;
                let seconds = bench.clock.now().saturating_sub(begun).as_secs_f64();
                round.put("reclaim_seconds", Unit::Seconds, Better::Lower, seconds);
                round.put_count("reclaim_unmapped_bytes", Unit::Bytes, Better::Neither, given);
            }
            let after = bench.settled_space(place).await?;
            if let Some((was, is)) = converted.mapped_since(&before).zip(after.mapped_since(&before))
                && bench.can_free(place)
            {
                check_space(outcome, side, size, (was, is));
            }
            if let Some(share) = share(after.mapped_since(&before)) {
                let data = data_bytes(size) as f64 / size as f64;
                round.put("consumed_after_share", Unit::Ratio, Better::Lower, share);
                round.put("freed_share", Unit::Ratio, Better::Higher, (1.0 - share) / (1.0 - data));
            }
            bench.check_disk(outcome, &store, "converted", &ledger).await?;
            bench.check_store(outcome, &store).await?;
            Ok(round)
        };
        let round = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
    }
    if !reads_zeros {
        outcome.note("unmapped blocks need not read as zeros on this unit (LBPRZ = 0), so the host unmapped nothing");
    }
    outcome.note("shares are of the disk's size, from GET LBA STATUS; consumed_converted_share is before the host unmaps the zeros that it finds");
    let measured = outcome.median("on", "freed_share");
    outcome.at_least("freed_share: on at least 99.9 % of the zeros, in pieces of 44 KiB", measured, 0.999);
    Ok(())
}
