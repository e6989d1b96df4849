//! Shared code of the cases that copy disks: one copy, measured.

use crate::bench::Bench;
use crate::error::LabError;
use crate::host::{Disk, Host, Store};
use crate::meter::Meter;
use crate::outcome::{Outcome, Round, Side};
use crate::results::{Better, Unit};
use datastore::DiskFormat;
use std::rc::Rc;

/// Clones a disk and measures it. On the on side, notes the bytes that the host had to move itself.
pub(super) async fn clone(
    bench: &Bench,
    outcome: &mut Outcome,
    (host, side): (&Host, Side),
    source: &Disk,
    (to, name, format): (&Rc<Store>, &str, DiskFormat),
) -> Result<Round, LabError> {
    let progress = bench.progress(source.size());
    let meter = Meter::start(bench, &[host]);
    to.clone_disk(source, name, format, &progress).await?;
    let cost = meter.stop();
    let mut round = Round::default();
    cost.put(&mut round);
    let rate = source.size() as f64 / cost.seconds.max(f64::MIN_POSITIVE);
    round.put("bytes_per_second", Unit::BytesPerSecond, Better::Higher, rate);
    if side == Side::On
        && let Some(words) = cost.not_offloaded()
    {
        outcome.note(format!("on: {words}"));
    }
    Ok(round)
}
