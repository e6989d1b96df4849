//! P2: each host in turn evacuated and filled again.

use crate::bench::{Bench, KIB, MIB};
use crate::case::{Case, Primitive};
use crate::content::{Base, Ledger};
use crate::error::LabError;
use crate::guest::{Guest, Load, Order, Until};
use crate::host::{Host, Store, mounted, sole};
use crate::latency::Latency;
use crate::meter::Meter;
use crate::outcome::{Outcome, Round, Side};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use datastore::{DiskFormat, FormatOptions};
use futures_util::future;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

pub(super) const CASE: Case = Case {
    name: "vmotion-storm",
    title: "128 machines of mixed kinds on four hosts; each host in turn evacuated and filled again",
    needs: &[Primitive::Locking],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "128 VMs of mixed kinds on four hosts, each host in turn evacuated and refilled: 34 % less time";
    let figures = vec![paper::ratio("seconds", Unit::Seconds, 0.66)];
    paper::paper("P2, hardware-assisted locking", paper::P2, words, figures)
}

const HOSTS: u32 = 4;
/// Number of machines that leave a host at a time.
const AT_A_TIME: usize = 8;

/// A machine, and the host that it runs on.
struct Machine {
    name: String,
    guest: Guest,
    host: Cell<usize>,
    home: usize,
}

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let machines = bench.size.count(128, 16);
    let wanted = bench.size.bytes(512 * MIB, 128 << 30) / 128;
    let size = (bench.room(place) / (machines * 2)).min(wanted.max(MIB)) / MIB * MIB;
    if size < MIB {
        return Err(LabError::Impossible("the logical unit is too small for this case".into()));
    }
    let options = FormatOptions {
        name: "windlass-lab".into(),
        block_bytes: 64 * KIB,
        hosts: 16,
        files: u32::try_from(machines + 16).unwrap_or(u32::MAX),
        ..FormatOptions::default()
    };
    outcome.note(format!("{machines} machines on {HOSTS} hosts: a quarter idle, a quarter reading, a quarter reading and writing, a quarter writing; their memory is not copied"));
    for (_, side) in bench.rounds(outcome) {
        let hosts = bench.hosts(HOSTS, side).await?;
        let stores = bench.shared_datastore(&hosts, place, options.clone()).await?;
        let round = mounted(&stores, storm(bench, outcome, side, (&hosts, &stores), (size, machines))).await?;
        outcome.check_no_conflicts(side, &round);
        outcome.add(side, round);
    }
    let measured = outcome.ratio("seconds", "on", "off");
    outcome.at_most("seconds: on at most 66 % of off, as in the paper", measured, 0.66);
    Ok(())
}

/// Load of a machine, by its kind.
fn load(kind: u64) -> Load {
    let (reads_percent, order, pause) = match kind % 4 {
        0 => (100, Order::Random, Duration::from_secs(1)),
        1 => (100, Order::Random, Duration::from_millis(20)),
        2 => (70, Order::Random, Duration::from_millis(20)),
        _ => (0, Order::Sequential { from: 0 }, Duration::from_millis(20)),
    };
    Load { depth: 1, order, reads_percent, bytes: (4 * KIB, 16 * KIB), pause }
}

async fn storm(
    bench: &Bench,
    outcome: &mut Outcome,
    side: Side,
    (hosts, stores): (&[Host], &[Rc<Store>]),
    (size, count): (u64, u64),
) -> Result<Round, LabError> {
    bench.say("creating the machines");
    let (reads, writes) = (Rc::new(Latency::default()), Rc::new(Latency::default()));
    let mut machines = Vec::new();
    for (number, (home, store)) in (0..count).zip(stores.iter().enumerate().cycle()) {
        let name = format!("machine-{number:03}");
        let base = Base::Stamped { seed: bench.seed(), bytes: size / 4, every: size };
        let (disk, _) = bench.filled(store, (&name, DiskFormat::Thin, size), base).await?;
        let latencies = (reads.clone(), writes.clone());
        let guest = Guest::sharing(bench, disk, Ledger::new(bench.seed(), base), load(number / 4), latencies);
        machines.push(Machine { name, guest, host: Cell::new(home), home });
    }
    bench.say(&format!("{}: evacuating and filling each host", side.word()));
    let all: Vec<&Host> = hosts.iter().collect();
    let until = Until::default();
    let moves = async {
        bench.clock.sleep(bench.size.time(Duration::from_millis(500))).await;
        reads.reset();
        writes.reset();
        let progress = bench.progress(count * 2);
        let moves = Cell::new(0_u64);
        let meter = Meter::start(bench, &all);
        for host in 0..stores.len() {
            let own: Vec<&Machine> = machines.iter().filter(|machine| machine.home == host).collect();
            // To the other hosts, and back.
            for away in [true, false] {
                let work = stream::iter(own.iter().enumerate()).map(Ok::<_, LabError>);
                work.try_for_each_concurrent(AT_A_TIME, |(number, machine)| {
                    let (moves, progress) = (&moves, &progress);
                    async move {
                        let to = match away {
                            true => (host + 1 + number % (stores.len() - 1).max(1)) % stores.len(),
                            false => host,
                        };
                        vmotion(stores, machine, to).await?;
                        moves.set(moves.get() + 1);
                        progress(1);
                        Ok(())
                    }
                })
                .await?;
            }
        }
        let cost = meter.stop();
        until.flag.set(true);
        let mut round = Round::default();
        cost.put(&mut round);
        reads.put(&mut round, "read_");
        writes.put(&mut round, "write_");
        let rate = moves.get() as f64 / cost.seconds.max(f64::MIN_POSITIVE);
        round.put("moves_per_second", Unit::PerSecond, Better::Higher, rate);
        let rate = cost.conflicts as f64 / cost.seconds.max(f64::MIN_POSITIVE);
        round.put("conflicts_per_second", Unit::PerSecond, Better::Lower, rate);
        Ok(round)
    };
    let loads = future::try_join_all(machines.iter().map(|machine| machine.guest.run(&until)));
    let (round, _) = future::try_join(moves, loads).await?;
    bench.say("comparing every byte");
    for machine in machines {
        let verified = bench.verify(&*machine.guest.disk()?, &machine.guest.ledger).await;
        match verified {
            Err(LabError::WrongData(words)) => {
                outcome.fail(format!("{} has wrong content: {words}", machine.name));
            }
            other => other?,
        }
        machine.guest.close().await?;
    }
    if let Some(store) = stores.first() {
        bench.check_store(outcome, store).await?;
    }
    Ok(round)
}

/// Moves a machine: one host closes its disk, another one opens it.
async fn vmotion(stores: &[Rc<Store>], machine: &Machine, to: usize) -> Result<(), LabError> {
    let Some(store) = stores.get(to).filter(|_| machine.host.get() != to) else { return Ok(()) };
    machine.guest.pause().await;
    if let Some(disk) = machine.guest.replace_disk(None) {
        sole(disk)?.close().await?;
    }
    let disk = store.open(&machine.name).await?;
    machine.guest.replace_disk(Some(disk));
    machine.host.set(to);
    machine.guest.resume();
    Ok(())
}
