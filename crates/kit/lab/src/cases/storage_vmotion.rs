//! P1, XCOPY 2: a running machine's disk moves to another datastore.

use crate::bench::{self, Bench, GIB, KIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::guest::{Guest, Load, Order, Until};
use crate::host::{Host, Store, mounted};
use crate::meter::Meter;
use crate::migration;
use crate::outcome::{Outcome, Round, Side};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::DiskFormat;
use futures_util::future;
use std::rc::Rc;
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "storage-vmotion",
    title: "a running machine's disk moves to another datastore, without and with a load beside it",
    needs: &[Primitive::Move],
    second_unit: true,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a running VM's disk moves between two datastores: 13 % less time on an idle host adapter, 44 % less with a load on it";
    paper::paper(
        "P1, XCOPY 2",
        paper::P1,
        words,
        vec![paper::ratio("seconds_idle", Unit::Seconds, 0.87), paper::ratio("seconds_loaded", Unit::Seconds, 0.56)],
    )
}

/// Longest time that a guest may have to wait at the end of a move.
const MAX_PAUSE: Duration = Duration::from_millis(100);

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let (first, second) = bench.two_places(outcome);
    let smaller = if first.blocks < second.blocks { first } else { second };
    let size = bench.fit(outcome, (GIB, 40 * GIB), smaller, 1.25)?;
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let one = bench.datastore(&host, first, few_files()).await?;
        let two = bench.datastore(&host, second, few_files()).await?;
        let stores = [one.clone(), two.clone()];
        let work = async {
            bench.say("filling the machine's disk");
            let base = Base::full(bench.seed());
            let (disk, ledger) = bench.filled(&one, ("vm", DiskFormat::EagerZeroedThick, size), base).await?;
            // The load of a machine that is not busy.
            let load = Load {
                depth: 2,
                order: Order::Random,
                reads_percent: 60,
                bytes: (4 * KIB, 16 * KIB),
                pause: Duration::from_millis(5),
            };
            let guest = Guest::new(bench, disk, ledger, load);
            let mut round = Round::default();
            bench.say(&format!("{}: moving the disk", side.word()));
            round.add_part(moved(bench, outcome, (&host, side), &guest, (&one, &two), None).await?, "idle");
            let beside_guest = ("load", DiskFormat::EagerZeroedThick, bench::part(size, 10, 128 * MIB));
            let (beside_guest, ledger) = bench.filled(&one, beside_guest, Base::full(bench.seed())).await?;
            let load = Load { bytes: (64 * KIB, 64 * KIB), ..Load::sequential_reads(8) };
            let beside_guest = Guest::new(bench, beside_guest, ledger, load);
            bench.say(&format!("{}: moving the disk beside a load", side.word()));
            round.add_part(
                moved(bench, outcome, (&host, side), &guest, (&two, &one), Some(&beside_guest)).await?,
                "loaded",
            );
            beside_guest.close().await?;
            bench.say("comparing every byte");
            if let Err(error) = bench.verify(&*guest.disk()?, &guest.ledger).await {
                match error {
                    LabError::WrongData(words) => outcome.fail(format!("the moved disk has wrong content: {words}")),
                    error => return Err(error),
                }
            }
            guest.close().await?;
            bench.check_store(outcome, &one).await?;
            bench.check_store(outcome, &two).await?;
            Ok(round)
        };
        let round = mounted(&stores, work).await?;
        outcome.add(side, round);
    }
    outcome.faster("seconds_idle", 20.0);
    outcome.faster("seconds_loaded", 20.0);
    for name in ["pause_seconds_idle", "pause_seconds_loaded"] {
        let measured = outcome.median("on", name);
        outcome.at_most(format!("{name}: on at most 100 ms"), measured, MAX_PAUSE.as_secs_f64());
    }
    Ok(())
}

/// Moves the disk while its guest works, and measures the move.
async fn moved(
    bench: &Bench,
    outcome: &mut Outcome,
    (host, side): (&Host, Side),
    guest: &Guest,
    (from, to): (&Rc<Store>, &Rc<Store>),
    beside: Option<&Guest>,
) -> Result<Round, LabError> {
    let until = Until::default();
    guest.reset();
    let work = async {
        bench.clock.sleep(bench.size.time(Duration::from_millis(300))).await;
        if let Some(beside_guest) = beside {
            beside_guest.reset();
        }
        let meter = Meter::start(bench, &[host]);
        let migration =
            migration::migrate(bench, guest, (from, "vm"), (to, "vm"), DiskFormat::EagerZeroedThick).await?;
        let cost = meter.stop();
        let mut round = Round::default();
        cost.put(&mut round);
        if beside.is_none()
            && side == Side::On
            && let Some(words) = cost.not_offloaded()
        {
            outcome.note(format!("on: {words}"));
        }
        round.put("pause_seconds", Unit::Seconds, Better::Lower, migration.pause.as_secs_f64());
        round.put_count("again_bytes", Unit::Bytes, Better::Neither, migration.again_bytes);
        if let Some(beside_guest) = beside {
            beside_guest.put(&mut round, cost.seconds);
        }
        until.flag.set(true);
        Ok(round)
    };
    let load = async {
        match beside {
            Some(beside_guest) => beside_guest.run(&until).await,
            None => Ok(()),
        }
    };
    let (round, (), ()) = future::try_join3(work, guest.run(&until), load).await?;
    Ok(round)
}
