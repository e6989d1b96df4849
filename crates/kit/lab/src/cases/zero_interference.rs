//! P5: a guest's latency while the array zeroes.

use crate::bench::{self, Bench, GIB, KIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::guest::{Guest, Load, Order, Until};
use crate::host::mounted;
use crate::meter::Meter;
use crate::outcome::{Outcome, Round};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::{DiskFormat, DiskOptions};
use futures_util::future;
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "zero-interference",
    title: "a guest's write latency while a large disk is zeroed",
    needs: &[Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "a guest writes 1 GB while 40 GB are zeroed by offload: a latency of 69 s, because offloaded work escapes the host's I/O control";
    let figure = crate::results::PaperFigure {
        measure: "write_latency_max".into(),
        unit: Unit::Seconds,
        off: None,
        on: Some(69.0),
        ratio: None,
    };
    paper::paper("P5, what went wrong", paper::P5, words, vec![figure])
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (2 * GIB, 40 * GIB), place, 1.2)?;
    let time = bench.size.time(Duration::from_secs(3));
    let load = Load {
        depth: 1,
        order: Order::Random,
        reads_percent: 0,
        bytes: (4 * KIB, 64 * KIB),
        pause: Duration::from_millis(1),
    };
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            let disk = ("guest", DiskFormat::EagerZeroedThick, bench::part(size, 16, 128 * MIB));
            let (disk, ledger) = bench.filled(&store, disk, Base::full(bench.seed())).await?;
            let guest = Guest::new(bench, disk, ledger, load);
            bench.say("a guest writes on an otherwise idle array");
            guest.run_for(bench.size.time(Duration::from_millis(500))).await?;
            guest.reset();
            let begun = bench.clock.now();
            guest.run_for(time).await?;
            let mut idle = Round::default();
            guest.put(&mut idle, bench.clock.now().saturating_sub(begun).as_secs_f64());
            bench.say(&format!("{}: the guest writes while {} are zeroed", side.word(), text::size::format(size)));
            let until = Until::default();
            guest.reset();
            let zeroing = async {
                let mut round = Round::default();
                let begun = bench.clock.now();
                // Zeroing is repeated until the guest has written long enough beside it; only its
                // writes during zeroing count.
                let (mut busy, mut passes) = (Duration::ZERO, 0_u32);
                let meter = Meter::start(bench, &[&host]);
                while passes == 0 || (busy < time && bench.clock.now().saturating_sub(begun) < time * 3) {
                    guest.set_counting(true);
                    let start = bench.clock.now();
                    let options = DiskOptions { format: DiskFormat::EagerZeroedThick, size };
                    store.create_disk("zeroed", options, &bench.progress(size)).await?;
                    busy += bench.clock.now().saturating_sub(start);
                    guest.set_counting(false);
                    passes += 1;
                    store.delete("zeroed").await?;
                }
                let cost = meter.stop();
                until.flag.set(true);
                cost.put_traffic(&mut round);
                round.moved(&cost.moved);
                let each = busy.as_secs_f64() / f64::from(passes);
                round.put("seconds", Unit::Seconds, Better::Lower, each);
                round.put("passes", Unit::Count, Better::Neither, passes.into());
                guest.put(&mut round, busy.as_secs_f64());
                Ok(round)
            };
            let (round, ()) = future::try_join(zeroing, guest.run(&until)).await?;
            bench.say("comparing every byte");
            bench.verify(&*guest.disk()?, &guest.ledger).await?;
            guest.close().await?;
            Ok((idle, round))
        };
        let (idle, round) = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
        outcome.add_other("idle", idle);
    }
    outcome.note("zeroing is repeated until the guest has written beside it for long enough; only writes that begin during zeroing count");
    let measured = outcome.ratio("write_latency_p99", "on", "idle");
    outcome.at_most("write_latency_p99: on at most twice that of an idle array", measured, 2.0);
    Ok(())
}
