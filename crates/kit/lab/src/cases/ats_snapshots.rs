//! P1, ATS 2: one host reads while another one takes and removes snapshots.

use crate::bench::{Bench, MIB, few_files};
use crate::case::{Case, Primitive};
use crate::content::{Base, GRAIN, Ledger, stamped};
use crate::error::LabError;
use crate::guest::{Guest, Load, Until};
use crate::host::{Store, mounted};
use crate::meter::Meter;
use crate::outcome::{Outcome, Round};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::{DiskFormat, DiskOptions};
use futures_util::future;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "ats-snapshots",
    title: "a host reads while another one takes and removes snapshots of ten machines without pause",
    needs: &[Primitive::Locking],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "host B takes and removes snapshots of ten VMs without pause: host A has 4 380 IOPS and 17 MB/s off; on +56 % IOPS, +64 % MB/s";
    paper::paper(
        "P1, ATS 2",
        paper::P1,
        words,
        vec![
            paper::figure("read_iops", Unit::PerSecond, 4380.0, 4380.0 * 1.56),
            paper::figure("bytes_per_second", Unit::BytesPerSecond, 17e6, 17e6 * 1.64),
        ],
    )
}

const MACHINES: u64 = 10;
const MACHINE_BYTES: u64 = 4 * MIB;
const DEPTH: usize = 4;

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, (256 * MIB, 10 << 30), place, 1.5)?;
    let (warm_up, time) = (bench.size.time(Duration::from_millis(500)), bench.size.time(Duration::from_secs(4)));
    for (_, side) in bench.rounds(outcome) {
        let (a, b) = (bench.host(1, side).await?, bench.host(2, side).await?);
        let store_a = bench.datastore(&a, place, few_files()).await?;
        let store_b = b.mount(place).await?;
        let work = async {
            bench.say("filling the disks");
            let disk = ("read", DiskFormat::EagerZeroedThick, size);
            let (disk, ledger) = bench.filled(&store_a, disk, Base::full(bench.seed())).await?;
            let guest = Guest::new(bench, disk, ledger, Load::sequential_reads(DEPTH));
            let mut machines = Vec::new();
            for machine in 0..MACHINES {
                let options = DiskOptions { format: DiskFormat::Thin, size: MACHINE_BYTES };
                store_b.create_disk(&name(machine), options, &|_| ()).await?;
                machines.push(Ledger::new(bench.seed(), Base::Zeros));
            }
            bench.say(&format!("{}: reading beside a host that takes and removes snapshots", side.word()));
            let until = Until::default();
            let snapshots = Cell::new(0_u64);
            let watch = async {
                bench.clock.sleep(warm_up).await;
                guest.reset();
                snapshots.set(0);
                let meter = Meter::start(bench, &[&a, &b]);
                bench.clock.sleep(time).await;
                let cost = meter.stop();
                let mut round = Round::default();
                guest.put(&mut round, cost.seconds);
                cost.put_rates(&mut round);
                let rate = snapshots.get() as f64 / cost.seconds.max(f64::MIN_POSITIVE);
                round.put("snapshots_per_second", Unit::PerSecond, Better::Higher, rate);
                until.flag.set(true);
                Ok(round)
            };
            let storm = async {
                'all: loop {
                    for (machine, ledger) in (0..).zip(&machines) {
                        if until.flag.get() {
                            break 'all;
                        }
                        snapshot(&store_b, machine, ledger).await?;
                        snapshots.set(snapshots.get() + 1);
                    }
                }
                Ok(())
            };
            let (round, (), ()) = future::try_join3(watch, storm, guest.run(&until)).await?;
            guest.close().await?;
            for (machine, ledger) in (0..).zip(&machines) {
                bench.check_disk(outcome, &store_b, &name(machine), ledger).await?;
            }
            bench.check_store(outcome, &store_a).await?;
            Ok(round)
        };
        let round = mounted(&[store_a.clone(), store_b.clone()], work).await?;
        outcome.check_no_conflicts(side, &round);
        outcome.add(side, round);
    }
    let measured = outcome.ratio("read_iops", "on", "off");
    outcome.at_least("read_iops: on at least 1.56 × off, as in the paper", measured, 1.56);
    let measured = outcome.median("on", "conflicts_per_second");
    outcome.at_most("conflicts_per_second: on none", measured, 0.0);
    Ok(())
}

fn name(machine: u64) -> String {
    format!("machine-{machine}")
}

/// Takes a snapshot, writes to it, and removes it, which commits the write into the disk.
async fn snapshot(store: &Rc<Store>, machine: u64, ledger: &Ledger) -> Result<(), LabError> {
    let disk = store.open(&name(machine)).await?;
    let disk = disk.snapshot(&format!("{}-snapshot", name(machine))).await.map_err(|(_, error)| error)?;
    let generation = ledger.next_generation(0, GRAIN);
    disk.write(0, stamped(ledger.seed, 0, GRAIN, generation)).await?;
    ledger.wrote(0, GRAIN, generation);
    let disk = disk.commit(&|_| ()).await.map_err(|(_, error)| error)?;
    disk.close().await?;
    Ok(())
}
