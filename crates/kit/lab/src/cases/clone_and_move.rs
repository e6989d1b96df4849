//! P3: a large lazily zeroed disk cloned, and moved.

use super::copies;
use crate::bench::{Bench, GIB, KIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::guest::{Guest, Load, Order, Until};
use crate::host::mounted;
use crate::meter::Meter;
use crate::migration;
use crate::outcome::{Outcome, Round};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::DiskFormat;
use futures_util::future;
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "clone-and-move",
    title: "a large zeroed-thick disk, partly used, cloned and then moved to another datastore",
    needs: &[Primitive::Move, Primitive::Init],
    second_unit: true,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words =
        "a 200 GB lazy-zeroed disk with 77 GB used, write-through: Storage vMotion 26:56 → 6:05, clone 25:50 → 5:59";
    paper::paper(
        "P3, full copy",
        paper::P3,
        words,
        vec![
            paper::figure("seconds_move", Unit::Seconds, paper::time(26, 56), paper::time(6, 5)),
            paper::figure("seconds_clone", Unit::Seconds, paper::time(25, 50), paper::time(5, 59)),
        ],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let (first, second) = bench.two_places(outcome);
    let smaller = if first.blocks < second.blocks { first } else { second };
    // Source and clone are both on the first datastore.
    let size = bench.fit(outcome, (GIB, 200 * GIB), smaller, 2.05)?;
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let one = bench.datastore(&host, first, few_files()).await?;
        let two = bench.datastore(&host, second, few_files()).await?;
        let work = async {
            bench.say("filling 77 of every 200 MiB");
            let base = Base::Stamped { seed: bench.seed(), bytes: 77 * MIB / 4, every: 50 * MIB };
            let (disk, ledger) = bench.filled(&one, ("vm", DiskFormat::ZeroedThick, size), base).await?;
            let mut round = Round::default();
            bench.say(&format!("{}: cloning", side.word()));
            let to = (&one, "clone", DiskFormat::ZeroedThick);
            round.add_part(copies::clone(bench, outcome, (&host, side), &disk, to).await?, "clone");
            bench.check_disk(outcome, &one, "clone", &ledger).await?;
            bench.say(&format!("{}: moving", side.word()));
            let load = Load {
                depth: 1,
                order: Order::Random,
                reads_percent: 60,
                bytes: (4 * KIB, 16 * KIB),
                pause: Duration::from_millis(10),
            };
            let guest = Guest::new(bench, disk, ledger, load);
            let until = Until::default();
            let moving = async {
                let meter = Meter::start(bench, &[&host]);
                let to = (&two, "vm");
                let migration = migration::migrate(bench, &guest, (&one, "vm"), to, DiskFormat::ZeroedThick).await;
                until.flag.set(true);
                let migration = migration?;
                let mut part = Round::default();
                meter.stop().put(&mut part);
                part.put("pause_seconds", Unit::Seconds, Better::Lower, migration.pause.as_secs_f64());
                Ok(part)
            };
            let (part, ()) = future::try_join(moving, guest.run(&until)).await?;
            round.add_part(part, "move");
            let ledger = guest.close().await?;
            bench.check_disk(outcome, &two, "vm", &ledger).await?;
            bench.check_store(outcome, &one).await?;
            bench.check_store(outcome, &two).await?;
            Ok(round)
        };
        let round = mounted(&[one.clone(), two.clone()], work).await?;
        outcome.add(side, round);
    }
    outcome.faster("seconds_clone", 20.0);
    outcome.faster("seconds_move", 20.0);
    Ok(())
}
