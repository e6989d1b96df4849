//! P2: time until random writes reach their steady rate.

use crate::bench::{Bench, GIB, KIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::{Base, Ledger};
use crate::error::LabError;
use crate::guest::{Guest, Load, Order};
use crate::host::mounted;
use crate::meter::Meter;
use crate::outcome::{Outcome, Round, Side};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::{DiskFormat, DiskOptions};
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "warm-up",
    title: "random writes at full rate to a zeroed-thick disk, and to an eager-zeroed one",
    needs: &[Primitive::Init],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "100 % random writes at full rate: a zeroedthick disk takes 120 min until it is stable; an eagerzeroedthick one is stable from the start";
    paper::paper(
        "P2, block zeroing",
        paper::P2,
        words,
        vec![paper::figure("seconds_until_steady", Unit::Seconds, 7200.0, 0.0)],
    )
}

/// Number of points in the series.
const BUCKETS: u32 = 100;
/// Number of buckets that are averaged, because single ones fluctuate.
const WINDOW: usize = 10;
/// Share of the steady rate that counts as reached.
const REACHED: f64 = 0.8;

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (GIB, 40 * GIB), place, 1.05)?;
    let time = bench.size.time(Duration::from_secs(10));
    let load =
        Load { depth: 16, order: Order::Random, reads_percent: 0, bytes: (4 * KIB, 4 * KIB), pause: Duration::ZERO };
    for (_, side) in bench.rounds(outcome) {
        let host = bench.host(1, side).await?;
        let store = bench.datastore(&host, place, few_files()).await?;
        let (format, word) = match side {
            Side::Off => (DiskFormat::ZeroedThick, "a zeroed-thick disk"),
            Side::On => (DiskFormat::EagerZeroedThick, "an eager-zeroed disk"),
        };
        let work = async {
            bench.say(&format!("{}: writing to {word}", side.word()));
            let created = bench.clock.now();
            let disk = store.create_open("disk", DiskOptions { format, size }, &|_| ()).await?;
            let created = bench.clock.now().saturating_sub(created);
            let guest = Guest::new(bench, disk, Ledger::new(bench.seed(), Base::Zeros), load);
            guest.start_series(time / BUCKETS);
            let meter = Meter::start(bench, &[&host]);
            guest.run_for(time).await?;
            let cost = meter.stop();
            let mut round = Round::default();
            guest.put(&mut round, cost.seconds);
            cost.put_rates(&mut round);
            let series = guest.take_series();
            let (steady, until) = steady(&series);
            round.put("create_seconds", Unit::Seconds, Better::Lower, created.as_secs_f64());
            round.put("steady_write_iops", Unit::PerSecond, Better::Higher, steady);
            round.put("seconds_until_steady", Unit::Seconds, Better::Lower, until);
            round.put_series("write_iops", series);
            bench.say("comparing every byte");
            bench.verify(&*guest.disk()?, &guest.ledger).await?;
            guest.close().await?;
            Ok(round)
        };
        let round = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
    }
    outcome.note("off: a zeroed-thick disk that the host zeroes as it is written; on: an eager-zeroed disk that the array zeroed when it was created");
    outcome.note("steady: the median rate of the last third; reached when the mean of ten points is at 80 % of it and stays there");
    let measured = outcome.median("on", "seconds_until_steady");
    outcome.at_most("seconds_until_steady: on at most a twentieth of the time", measured, time.as_secs_f64() / 20.0);
    Ok(())
}

/// The steady rate, and the time when it is reached.
fn steady(series: &[(f64, f64)]) -> (f64, f64) {
    let mut last: Vec<f64> = series.iter().skip(series.len() * 2 / 3).map(|(_, rate)| *rate).collect();
    last.sort_by(f64::total_cmp);
    let steady = last.get(last.len() / 2).copied().unwrap_or(0.0);
    let mean = |window: &[(f64, f64)]| window.iter().map(|(_, rate)| rate).sum::<f64>() / window.len() as f64;
    let windows: Vec<_> = series.windows(WINDOW).collect();
    // The last window that is too slow; the steady part begins after it.
    let slow = windows.iter().rposition(|window| mean(window) < REACHED * steady);
    let until = slow.and_then(|at| series.get(at + 1)).map_or(0.0, |(seconds, _)| *seconds);
    (steady, until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_begins_after_the_last_slow_window() {
        let rates =
            |slow: usize| (0..60).map(|at| (at as f64, if at < slow { 10.0 } else { 100.0 })).collect::<Vec<_>>();
        assert_eq!(steady(&rates(0)), (100.0, 0.0));
        let (rate, until) = steady(&rates(20));
        assert!(rate == 100.0 && (11.0..=21.0).contains(&until), "{rate} {until}");
        assert_eq!(steady(&[]), (0.0, 0.0));
    }
}
