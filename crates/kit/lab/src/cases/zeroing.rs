//! Shared code of the cases that create eager-zeroed disks.

use crate::bench::{Bench, MIB, few_files};
use crate::content::{Base, Ledger};
use crate::error::LabError;
use crate::host::{Host, Store, mounted};
use crate::meter::Meter;
use crate::outcome::{Outcome, Round, Side};
use crate::results::{Better, Unit};
use datastore::{DiskFormat, DiskOptions};
use std::rc::Rc;

/// Largest amount of old data left in free blocks, so that zeros have to be written.
const OLD_BYTES: u64 = 64 * MIB;

/// Leaves old data in free blocks: fills a disk, and deletes it without UNMAP.
pub(super) async fn leave_old_data(bench: &Bench, store: &Rc<Store>, size: u64) -> Result<(), LabError> {
    let size = size.min(OLD_BYTES);
    let (old, _) = bench.filled(store, ("old", DiskFormat::Thin, size), Base::full(bench.seed())).await?;
    old.close().await?;
    Ok(store.delete("old").await?)
}

/// Creates an eager-zeroed disk, and measures it.
pub(super) async fn create(
    bench: &Bench,
    outcome: &mut Outcome,
    (host, side): (&Host, Side),
    store: &Rc<Store>,
    (name, size): (&str, u64),
) -> Result<Round, LabError> {
    let progress = bench.progress(size);
    let meter = Meter::start(bench, &[host]);
    store.create_disk(name, DiskOptions { format: DiskFormat::EagerZeroedThick, size }, &progress).await?;
    let cost = meter.stop();
    let mut round = Round::default();
    cost.put(&mut round);
    let rate = size as f64 / cost.seconds.max(f64::MIN_POSITIVE);
    round.put("bytes_per_second", Unit::BytesPerSecond, Better::Higher, rate);
    if side == Side::On
        && let Some(words) = cost.not_offloaded()
    {
        outcome.note(format!("on: {words}"));
    }
    Ok(round)
}

/// Runs rounds of one eager-zeroed disk each, which must read as zeros although its blocks held
/// data.
pub(super) async fn rounds(bench: &Bench, outcome: &mut Outcome, sizes: (u64, u64)) -> Result<(), LabError> {
    let place = bench.whole();
    let size = bench.fit(outcome, sizes, place, 1.05)?;
    for (_, side) in bench.rounds(outcome) {
        let mut host = bench.host(1, side).await?;
        host.unmap = false;
        let store = bench.datastore(&host, place, few_files()).await?;
        let work = async {
            bench.say(&format!("{}: creating an eager-zeroed disk", side.word()));
            leave_old_data(bench, &store, size).await?;
            let round = create(bench, outcome, (&host, side), &store, ("disk", size)).await?;
            bench.check_disk(outcome, &store, "disk", &Ledger::new(0, Base::Zeros)).await?;
            bench.check_store(outcome, &store).await?;
            Ok(round)
        };
        let round = mounted(std::slice::from_ref(&store), work).await?;
        outcome.add(side, round);
    }
    Ok(())
}

/// Adds a share of the disk's size as a measure.
pub(super) fn put_share(round: &mut Round, name: &str, bytes: f64, size: u64) {
    round.put(name, Unit::Ratio, Better::Lower, bytes.max(0.0) / size as f64);
}
