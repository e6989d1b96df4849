//! P2: hundreds of linked clones powered on at once.

use crate::bench::{Bench, GIB, KIB, MIB};
use crate::case::{Case, Primitive};
use crate::content::{Base, Ledger};
use crate::error::LabError;
use crate::guest::{Guest, Load};
use crate::host::{Host, Store, mounted};
use crate::latency::Latency;
use crate::meter::Meter;
use crate::outcome::{Outcome, Round, Side};
use crate::paper;
use crate::results::{Better, Paper, Unit};
use crate::scale::Size;
use datastore::{DiskFormat, FormatOptions};
use futures_util::future;
use random::Random;
use std::rc::Rc;

pub(super) const CASE: Case = Case {
    name: "boot-storm",
    title: "512 linked clones on four hosts powered on at once",
    needs: &[Primitive::Locking],
    second_unit: false,
    paper: paper_result,
    run: |bench, outcome| Box::pin(run(bench, outcome)),
};

fn paper_result() -> Paper {
    let words = "512 linked clones on four hosts, one datastore, powered on at once: 27 % less time on a fast pool, 36 % on a slow one; 70 % and 75 % fewer reservation conflicts";
    paper::paper(
        "P2, hardware-assisted locking",
        paper::P2,
        words,
        vec![paper::ratio("seconds", Unit::Seconds, 0.73), paper::ratio("reservation_conflicts", Unit::Count, 0.3)],
    )
}

const HOSTS: u32 = 4;
/// Size of the golden disk at the small scale: as much as direct pointers to blocks of 64 KiB
/// address.
const SMALL: u64 = 60 * MIB;
/// Number of reads and writes of one machine while it boots.
const READS: u64 = 80;
const WRITES: u64 = 8;
/// Number of machines whose whole disk is compared afterwards.
const COMPARED: usize = 4;

async fn run(bench: &Bench, outcome: &mut Outcome) -> Result<(), LabError> {
    let place = bench.whole();
    let machines = bench.size.count(512, 8);
    // Half of the room is for the clones' writes.
    let golden = match bench.size {
        Size::Bytes(bytes) => (bytes / 8).clamp(4 * MIB, SMALL),
        Size::Small | Size::Paper => bench.size.bytes(SMALL, 20 * GIB),
    };
    let size = bench.fit_bytes(outcome, golden, place, 2.0)?;
    // Small blocks for differences, as a redo log has; larger ones where small blocks would need
    // too many pointers.
    let block_bytes = if size <= SMALL { 64 * KIB } else { MIB };
    let options = FormatOptions {
        name: "windlass-lab".into(),
        block_bytes,
        hosts: 16,
        files: u32::try_from(machines + 32).unwrap_or(u32::MAX),
        ..FormatOptions::default()
    };
    outcome.note(format!("{machines} machines on {HOSTS} hosts; each opens its disk, reads {READS} and writes {WRITES} times, and checks what it reads"));
    for (_, side) in bench.rounds(outcome) {
        let hosts = bench.hosts(HOSTS, side).await?;
        let stores = bench.shared_datastore(&hosts, place, options.clone()).await?;
        let round = mounted(&stores, storm(bench, outcome, side, (&hosts, &stores), (size, machines))).await?;
        outcome.check_no_conflicts(side, &round);
        outcome.add(side, round);
    }
    let measured = outcome.ratio("seconds", "on", "off");
    outcome.at_most("seconds: on at most half of off", measured, 0.5);
    Ok(())
}

async fn storm(
    bench: &Bench,
    outcome: &mut Outcome,
    side: Side,
    (hosts, stores): (&[Host], &[Rc<Store>]),
    (size, machines): (u64, u64),
) -> Result<Round, LabError> {
    let Some(first) = stores.first() else { return Ok(Round::default()) };
    bench.say("filling the golden disk");
    let base = Base::full(bench.seed());
    let (golden, _) = bench.filled(first, ("golden", DiskFormat::Thin, size), base).await?;
    golden.close().await?;
    let progress = bench.progress(machines);
    for machine in 0..machines {
        if machine % 64 == 0 {
            bench.say(&format!("creating linked clones, {machine} of {machines}"));
        }
        // The first host creates them all: this is not measured.
        first.create_linked_clone("golden", &name(machine)).await?;
        progress(1);
    }
    bench.say(&format!("{}: powering on {machines} machines", side.word()));
    let (reads, writes) = (Rc::new(Latency::default()), Rc::new(Latency::default()));
    let all: Vec<&Host> = hosts.iter().collect();
    let progress = bench.progress(machines);
    let meter = Meter::start(bench, &all);
    let boots = (0..machines).zip(stores.iter().cycle()).map(|(machine, store)| {
        let (latencies, progress) = ((reads.clone(), writes.clone()), &progress);
        async move {
            let guest = boot(bench, store, machine, base, latencies).await?;
            progress(1);
            Ok::<_, LabError>(guest)
        }
    });
    let guests = future::try_join_all(boots).await?;
    let cost = meter.stop();
    let mut round = Round::default();
    cost.put(&mut round);
    reads.put(&mut round, "read_");
    writes.put(&mut round, "write_");
    let rate = machines as f64 / cost.seconds.max(f64::MIN_POSITIVE);
    round.put("machines_per_second", Unit::PerSecond, Better::Higher, rate);
    round.put(
        "conflicts_per_second",
        Unit::PerSecond,
        Better::Lower,
        cost.conflicts as f64 / cost.seconds.max(f64::MIN_POSITIVE),
    );
    bench.say("comparing every byte of some disks");
    let step = (guests.len() / COMPARED).max(1);
    for guest in guests.iter().step_by(step) {
        if let Err(error) = bench.verify(&*guest.disk()?, &guest.ledger).await {
            match error {
                LabError::WrongData(words) => outcome.fail(format!("a machine's disk has wrong content: {words}")),
                error => return Err(error),
            }
        }
    }
    bench.check_store(outcome, first).await?;
    // The machines stay on: their locks become void when the hosts unmount.
    drop(guests);
    Ok(round)
}

fn name(machine: u64) -> String {
    format!("machine-{machine:03}")
}

/// Powers on one machine.
async fn boot(
    bench: &Bench,
    store: &Rc<Store>,
    machine: u64,
    base: Base,
    (reads, writes): (Rc<Latency>, Rc<Latency>),
) -> Result<Guest, LabError> {
    let disk = store.open(&name(machine)).await?;
    let size = disk.size();
    let ledger = Ledger::new(bench.seed(), base);
    let random = Random::new(machine + 1);
    let guest = Guest::sharing(bench, disk, ledger, Load::sequential_reads(1), (reads, writes));
    for step in 0..READS + WRITES {
        let disk = guest.disk()?;
        let grain = 4 * KIB;
        // One operation in eleven is a write; most reads are at the beginning of the disk, which
        // all machines share.
        let write = step % (READS / WRITES + 1) == READS / WRITES;
        let bytes = match write {
            true => grain * (1 + random.below(4)),
            false => grain * (1 + random.below(16)),
        };
        let zone = if !write && random.below(4) > 0 { size / 4 } else { size };
        let offset = random.below(zone.saturating_sub(bytes) / grain + 1) * grain;
        let bytes = bytes.min(size - offset);
        match write {
            true => guest.write(&disk, offset, bytes).await?,
            false => guest.read(&disk, offset, bytes).await?,
        }
    }
    Ok(guest)
}
