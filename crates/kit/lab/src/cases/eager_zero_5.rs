//! P5: a disk for fault tolerance, created while another guest writes.

use super::zeroing;
use crate::bench::{self, Bench, GIB, KIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::{Base, Ledger};
use crate::error::LabError;
use crate::guest::{Guest, Load, Order, Until};
use crate::host::mounted;
use crate::outcome::Outcome;
use crate::paper;
use crate::results::{Paper, Unit};
use datastore::DiskFormat;
use futures_util::future;
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "eager-zero-5",
    title: "an eager-zeroed disk for fault tolerance, while another guest writes",
    needs: &[Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a 5 GB disk for fault tolerance: 26 s → 8 s; write latency without offload up to 171 ms";
    paper::paper(
        "P5, block zeroing",
        paper::P5,
        words,
        vec![
            paper::figure("seconds", Unit::Seconds, 26.0, 8.0),
            crate::results::PaperFigure {
                measure: "write_latency_max".into(),
                unit: Unit::Seconds,
                off: Some(0.171),
                on: None,
                ratio: None,
            },
        ],
    )
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (GIB, 5 * GIB), place, 1.2)?;
    let load = Load {
        depth: 1,
        order: Order::Random,
        reads_percent: 0,
        bytes: (4 * KIB, 4 * KIB),
        pause: Duration::from_millis(1),
    };
    for (_, side) in bench.rounds(outcome) {
        let mut host = bench.host(1, side).await?;
        host.unmap = false;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            let guest_size = bench::part(size, 10, 64 * MIB);
            let base = Base::full(bench.seed());
            let disk = ("guest", DiskFormat::EagerZeroedThick, guest_size);
            let (disk, ledger) = bench.filled(&store, disk, base).await?;
            let guest = Guest::new(bench, disk, ledger, load);
            zeroing::leave_old_data(bench, &store, size).await?;
            bench.say(&format!("{}: creating an eager-zeroed disk while a guest writes", side.word()));
            guest.run_for(bench.size.time(Duration::from_millis(500))).await?;
            guest.reset();
            let until = Until::default();
            let flag = until.flag.clone();
            let created = async {
                let round = zeroing::create(bench, outcome, (&host, side), &store, ("ft", size)).await;
                flag.set(true);
                round
            };
            let (mut round, ()) = future::try_join(created, guest.run(&until)).await?;
            guest.writes.put(&mut round, "write_");
            bench.verify(&*guest.disk()?, &guest.ledger).await?;
            guest.close().await?;
            bench.check_disk(outcome, &store, "ft", &Ledger::new(0, Base::Zeros)).await?;
            Ok(round)
        };
        let round = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
    }
    outcome.faster("seconds", 50.0);
    Ok(())
}
