//! P1, WRITE SAME 2: the first writes to a zeroed-thick disk.

use crate::bench::{Bench, GIB, KIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::{Base, Ledger};
use crate::error::LabError;
use crate::guest::{Guest, Load, Order, Until};
use crate::host::{Host, mounted};
use crate::meter::Meter;
use crate::outcome::{Outcome, Round};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::{DiskFormat, DiskOptions};
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "lazy-zero-writes",
    title: "sequential writes of 1 MiB to a fresh zeroed-thick disk",
    needs: &[Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "1 MB sequential writes to a fresh zeroedthick disk: 226 → 473 MB/s; on the wire 472 → 488 MB/s";
    paper::paper(
        "P1, Write Same 2",
        paper::P1,
        words,
        vec![
            paper::figure("bytes_per_second", Unit::BytesPerSecond, 226e6, 473e6),
            paper::figure("wire_bytes_per_second", Unit::BytesPerSecond, 472e6, 488e6),
        ],
    )
}

/// Offset of the guest's file system: its writes straddle the blocks of the datastore, so that each
/// meets a block still to be zeroed.
const PARTITION: u64 = 32 * KIB;
const LOAD: Load = Load {
    depth: 4,
    order: Order::Sequential { from: PARTITION },
    reads_percent: 0,
    bytes: (MIB, MIB),
    pause: Duration::ZERO,
};

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (GIB, 20 * GIB), place, 1.05)?;
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            let options = DiskOptions { format: DiskFormat::ZeroedThick, size };
            let disk = store.create_open("disk", options, &|_| ()).await?;
            let guest = Guest::new(bench, disk, Ledger::new(bench.seed(), Base::Zeros), LOAD);
            bench.say(&format!("{}: writing to a fresh disk", side.word()));
            let fresh = written(bench, &host, &guest).await?;
            bench.say("writing to it again");
            let again = written(bench, &host, &guest).await?;
            bench.say("comparing every byte");
            bench.verify(&*guest.disk()?, &guest.ledger).await?;
            guest.close().await?;
            Ok((fresh, again))
        };
        let (fresh, again) = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, fresh);
        outcome.add_other("written", again);
    }
    outcome.note("written: the same disk, written again; the guest's file system begins 32 KiB into its disk, so every write meets a fresh block");
    let measured = outcome.ratio("bytes_per_second", "on", "written");
    outcome.at_least("bytes_per_second: on at least 98 % of writes to a written disk", measured, 0.98);
    Ok(())
}

/// Writes the whole disk once.
async fn written(bench: &Bench, host: &Host, guest: &Guest) -> Result<Round, LabError> {
    guest.reset();
    guest.rewind();
    let meter = Meter::start(bench, &[host]);
    guest.run(&Until { end_of_disk: true, ..Until::default() }).await?;
    let cost = meter.stop();
    let mut round = Round::default();
    guest.put(&mut round, cost.seconds);
    cost.put_rates(&mut round);
    round.put("seconds", Unit::Seconds, Better::Lower, cost.seconds);
    Ok(round)
}
