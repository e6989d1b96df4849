//! P1, ATS 1: one host reads while another one touches a file.

use crate::bench::{Bench, KIB, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::Base;
use crate::error::LabError;
use crate::guest::{Guest, Load, Until};
use crate::host::{Disk, Host, Store, mounted};
use crate::meter::Meter;
use crate::outcome::{Outcome, Round};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use bytes::Bytes;
use datastore::DiskFormat;
use futures_util::future;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "ats-touch",
    title: "a host reads 4 KiB sequentially while another one touches a file without pause",
    needs: &[Primitive::Locking],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "host A reads 4 KB sequentially, host B touches a file without pause: 1 345 → 6 759 IOPS, 5.51 → 27.68 MB/s; 32 → 0 reservation conflicts/s";
    paper::paper(
        "P1, ATS 1",
        paper::P1,
        words,
        vec![
            paper::figure("read_iops", Unit::PerSecond, 1345.0, 6759.0),
            paper::figure("bytes_per_second", Unit::BytesPerSecond, 5.51e6, 27.68e6),
            paper::figure("conflicts_per_second", Unit::PerSecond, 32.0, 0.0),
        ],
    )
}

/// Work of host B.
#[derive(Clone, Copy)]
enum Other<'a> {
    /// Touches a file: takes or releases three locks.
    Touches(&'a Rc<Store>),
    /// Sends the same commands without a lock: reads, and plain writes of its own sectors.
    WithoutLocks(&'a Disk),
    Nothing,
}

/// Number of reads in flight of the reading host.
const DEPTH: usize = 4;
/// Number of sectors read and written by one touch.
const TOUCH_STEPS: u64 = 3;

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (256 * MIB, 10 << 30), place, 1.2)?;
    let mut baselines = 0;
    for (pair, side) in bench.rounds(outcome) {
        let (a, b) = (bench.host(1, side).await?, bench.host(2, side).await?);
        let store_a = bench.datastore(&a, place, few_files()).await?;
        let store_b = b.mount(place).await?;
        let work = async {
            bench.say("filling the disk that is read");
            let base = Base::full(bench.seed());
            let (disk, ledger) = bench.filled(&store_a, ("read", DiskFormat::EagerZeroedThick, size), base).await?;
            let guest = Guest::new(bench, disk, ledger, Load::sequential_reads(DEPTH));
            let (file, _) =
                bench.filled(&store_b, ("file", DiskFormat::Thin, 64 * KIB), Base::full(bench.seed())).await?;
            // Once per pair, in the round of the first side.
            if baselines <= pair {
                baselines = pair + 1;
                bench.say("reading alone, and beside a host that takes no locks");
                outcome.add_other("alone", measure(bench, &guest, (&a, &b), Other::Nothing).await?);
                outcome.add_other("baseline", measure(bench, &guest, (&a, &b), Other::WithoutLocks(&file)).await?);
            }
            file.close().await?;
            bench.say(&format!("{}: reading beside a host that touches a file", side.word()));
            let round = measure(bench, &guest, (&a, &b), Other::Touches(&store_b)).await?;
            guest.close().await?;
            bench.check_store(outcome, &store_a).await?;
            Ok(round)
        };
        let round = mounted(&[store_a.clone(), store_b.clone()], work).await?;
        outcome.check_no_conflicts(side, &round);
        outcome.add(side, round);
    }
    outcome.note(
        "baseline: host B reads and writes as many sectors as a touch does, without a lock; alone: host B does nothing",
    );
    let measured = outcome.ratio("read_iops", "on", "off");
    outcome.at_least("read_iops: on at least 5 × off", measured, 5.0);
    let measured = outcome.ratio("read_iops", "on", "baseline");
    outcome.at_least("read_iops: on at least 95 % of the rate without locks", measured, 0.95);
    let measured = outcome.median("on", "conflicts_per_second");
    outcome.at_most("conflicts_per_second: on none", measured, 0.0);
    Ok(())
}

/// Reads for a while beside the other host, after a warm-up.
async fn measure(bench: &Bench, guest: &Guest, (a, b): (&Host, &Host), other: Other<'_>) -> Result<Round, LabError> {
    let until = Until::default();
    let touches = Cell::new(0_u64);
    let (warm_up, time) = (bench.size.time(Duration::from_millis(500)), bench.size.time(Duration::from_secs(4)));
    let watch = async {
        bench.clock.sleep(warm_up).await;
        guest.reset();
        touches.set(0);
        let meter = Meter::start(bench, &[a, b]);
        bench.clock.sleep(time).await;
        let cost = meter.stop();
        let mut round = Round::default();
        guest.put(&mut round, cost.seconds);
        cost.put_rates(&mut round);
        let rate = touches.get() as f64 / cost.seconds.max(f64::MIN_POSITIVE);
        round.put("touches_per_second", Unit::PerSecond, Better::Higher, rate);
        until.flag.set(true);
        Ok(round)
    };
    let touching = async {
        while !until.flag.get() {
            match other {
                Other::Nothing => return Ok(()),
                Other::Touches(store) => store.touch("file").await?,
                Other::WithoutLocks(disk) => {
                    for sector in 0..TOUCH_STEPS {
                        let data: Bytes = disk.read(sector * 512, 512).await?;
                        disk.write(sector * 512, data).await?;
                    }
                }
            }
            touches.set(touches.get() + 1);
        }
        Ok(())
    };
    let (round, (), ()) = future::try_join3(watch, touching, guest.run(&until)).await?;
    Ok(round)
}
