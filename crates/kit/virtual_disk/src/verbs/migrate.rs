//! Migration of a disk in use: everything is copied while writes go to both sides, then the guest
//! is moved over.
//!
//! A guest runs in the process that has the disk open, since no other process may write to it. So
//! the guest is the command's own: a load that verifies its data, or none at all.

use super::{Done, close, format_name};
use crate::endpoint::Endpoint;
use crate::error::DiskError;
use crate::holds_data::check_destroy;
use crate::kit::Kit;
use crate::load::{Load, LoadError, LoadOptions, Sample};
use crate::location::Location;
use crate::mirror::{MigrateError, Mirror};
use crate::progress::Meter;
use ::datastore::{DatastoreError, DiskFormat, DiskOptions, VirtualDisk};
use data_mover::{DataMover, Device, DeviceError, Moved};
use futures_util::future::{self, Either};
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Duration;

/// Period of checks for an interruption.
const POLL_PERIOD: Duration = Duration::from_millis(100);

/// Parameters of a migration.
#[derive(Clone, Debug)]
pub struct MigrateOptions {
    /// Format of the new disk.
    pub format: DiskFormat,
    /// Keep the source disk; a whole logical unit always stays.
    pub keep_source: bool,
    /// Name of a logical unit whose data may be lost.
    pub destroy: Option<String>,
    /// Load of a verifying guest, which overwrites the disk.
    pub load: Option<LoadOptions>,
    /// Time for which the guest runs before, and again after.
    pub settle: Duration,
}

/// Result of a migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// Time for which the guest's requests were held back.
    pub pause: Duration,
    /// Start of the copy and end of the cut-over, by the clock of the host.
    pub copying: (Duration, Duration),
}

/// Copies the disk and cuts over, while the caller runs the guest. Afterwards the disk is at the
/// destination or, after an error, still at the source.
pub async fn migrate_under<D: Device>(
    mirror: &Mirror<D>,
    stop: &dyn Fn() -> bool,
    progress: &dyn Fn(u64),
    publish: impl AsyncFnOnce(&Endpoint<D>) -> Result<(), DatastoreError>,
    now: &dyn Fn() -> Duration,
) -> Result<(Migrated, Moved), MigrateError> {
    let begun = now();
    let moved = mirror.copy(stop, progress).await?;
    let pause = mirror.cut_over(publish).await?;
    Ok((Migrated { pause, copying: (begun, now()) }, moved))
}

/// Moves a disk, or the content of a whole logical unit.
pub async fn migrate(
    kit: &Kit,
    from: &Location,
    to: &Location,
    options: &MigrateOptions,
    meter: &Meter,
) -> Result<Done, DiskError> {
    kit.check_apart(from, to).await?;
    let source = match &from.disk {
        // Opened for writing, which the guest does.
        Some(name) => {
            let opened = kit.datastore(&from.url).await?.open(name).await;
            Endpoint::Disk(Box::new(opened.map_err(|error| DiskError::datastore(from, error))?))
        }
        None => {
            if options.load.is_some() {
                let unit = kit.unit(&from.url).await?;
                check_destroy(kit, &from.url, &unit, options.destroy.as_deref()).await?;
            }
            kit.whole_unit(&from.url).await?
        }
    };
    let destination = match destination(kit, to, source.size(), options).await {
        Ok(destination) => destination,
        Err(error) => {
            close(source).await.map_err(|error| DiskError::datastore(from, error))?;
            return Err(error);
        }
    };
    let size = source.size();
    meter.total(size);
    let old_name = from.disk.as_deref().filter(|_| !options.keep_source);
    let ended = move_under_guest(kit.mover(), source, destination, old_name, options, meter).await;
    let here = if ended.moved { to } else { from };
    let tidied = ended.tidied.map_err(|error| DiskError::datastore(if ended.moved { from } else { to }, error));
    let closed = ended.closed.map_err(|error| DiskError::datastore(here, error));
    let (migrated, copied, load) = match ended.outcome {
        Ok(outcome) => outcome,
        Err(Failure::Migrate(
            MigrateError::Interrupted | MigrateError::Failed(DatastoreError::Device(DeviceError::Interrupted)),
        )) => {
            return Err(DiskError::Interrupted(format!("the disk stays at its source, {from}")));
        }
        Err(Failure::Migrate(MigrateError::Failed(error))) => {
            return Err(DiskError::datastore(format!("the disk stays at its source, {from}; {to}"), error));
        }
        Err(Failure::Migrate(MigrateError::Publishing(error))) => {
            let words = format!(
                "the disk stays at its source, {from}; the copy at {to} may look complete, but is stale: delete it"
            );
            return Err(DiskError::datastore(words, error));
        }
        Err(Failure::Migrate(error @ MigrateError::Guest(_))) => {
            return Err(DiskError::Wrong(format!("{from}: {error}")));
        }
        Err(Failure::Load(LoadError::Disk(error))) => return Err(DiskError::datastore(here, error)),
        Err(Failure::Load(error)) => return Err(DiskError::Wrong(format!("{here}: {error}"))),
    };
    let pause_ms = migrated.pause.as_secs_f64() * 1e3;
    let format = to.disk.as_ref().map(|_| format_name(options.format));
    let mut words = format!("moved {from} to {to}: {}, cut-over pause {pause_ms:.1} ms", text::size::format(size));
    if let Some(load) = &load {
        words += &format!("\n{}", load.words);
    }
    let mut failed = None;
    if let Err(error) = tidied {
        words += &format!("\nthe old disk {from} could not be removed and is stale: delete it, and do not use it");
        failed = Some(DiskError::OldDiskLeft(Box::new(error)));
    }
    if let Err(error) = closed {
        words += &format!("\n{to} could not be closed: its lock ends with the heartbeat of this host");
        failed = Some(error);
    }
    let source_left = options.keep_source || from.disk.is_none() || failed.is_some();
    let json = json!({
        "source": from.to_string(),
        "disk": to.to_string(),
        "format": format,
        "capacity_bytes": size,
        "pause_ms": pause_ms,
        "copied_bytes": copied.offloaded_bytes + copied.host_bytes(),
        "load": load.map(|load| load.json),
        "source_left": source_left,
    });
    Ok(Done { failed, ..Done::new(words, json) })
}

async fn destination(
    kit: &Kit,
    to: &Location,
    size: u64,
    options: &MigrateOptions,
) -> Result<Endpoint<initiator::LogicalUnit>, DiskError> {
    match &to.disk {
        Some(name) => {
            let store = kit.datastore(&to.url).await?;
            let begun = store.begin_disk(name, DiskOptions { format: options.format, size }).await;
            Ok(Endpoint::Disk(Box::new(begun.map_err(|error| DiskError::datastore(to, error))?)))
        }
        None => {
            let unit = kit.unit(&to.url).await?;
            let room = unit.identity().blocks.saturating_mul(unit.identity().block_bytes.into());
            if room < size {
                let words =
                    format!("{to} has {}, but {} are needed", text::size::format(room), text::size::format(size));
                return Err(DiskError::Usage(words));
            }
            check_destroy(kit, &to.url, &unit, options.destroy.as_deref()).await?;
            kit.whole_unit(&to.url).await
        }
    }
}

/// Result of a move, with both sides closed.
pub(crate) struct Ended {
    /// Whether the disk is at the destination.
    pub(crate) moved: bool,
    pub(crate) outcome: Result<(Migrated, Moved, Option<GuestStatistics>), Failure>,
    /// Result for the invalid side: the destination is abandoned, or the source closed and deleted.
    pub(crate) tidied: Result<(), DatastoreError>,
    /// Result of closing the side that the guest used at the end.
    pub(crate) closed: Result<(), DatastoreError>,
}

/// Moves a disk under its guest, removes the invalid side, and closes the other one. `old_name`:
/// the file of the source, to be deleted after the move; `None` keeps it.
pub(crate) async fn move_under_guest<D: Device>(
    mover: &DataMover,
    source: Endpoint<D>,
    destination: Endpoint<D>,
    old_name: Option<&str>,
    options: &MigrateOptions,
    meter: &Meter,
) -> Ended {
    let mirror = Mirror::new(source, destination);
    let outcome = run(mover, &mirror, options, meter).await;
    let rest = mirror.settle().await;
    let moved = mirror.is_moved();
    let tidied = match rest {
        Some(Endpoint::Disk(disk)) if moved => remove_source(*disk, old_name).await,
        Some(Endpoint::Disk(disk)) => disk.abandon().await,
        Some(Endpoint::Unit { .. }) | None => Ok(()),
    };
    let closed = match mirror.into_disk() {
        Some(disk) => close(disk).await,
        None => Ok(()),
    };
    Ended { moved, outcome, tidied, closed }
}

async fn remove_source<D: Device>(disk: VirtualDisk<D>, name: Option<&str>) -> Result<(), DatastoreError> {
    let store = disk.datastore().clone();
    disk.close().await?;
    match name {
        Some(name) => store.delete(name).await,
        None => Ok(()),
    }
}

/// Reason why the disk did not move.
#[derive(Debug)]
pub(crate) enum Failure {
    Migrate(MigrateError),
    Load(LoadError),
}

/// Statistics of the guest.
#[derive(Debug)]
pub(crate) struct GuestStatistics {
    words: String,
    json: Value,
}

/// Runs the guest if there is one, and moves the disk under it. After an error before the move only
/// the source is valid, so that [`Mirror::settle`] releases the destination.
pub(crate) async fn run<D: Device>(
    mover: &DataMover,
    mirror: &Mirror<D>,
    options: &MigrateOptions,
    meter: &Meter,
) -> Result<(Migrated, Moved, Option<GuestStatistics>), Failure> {
    let outcome = run_guest(mover, mirror, options, meter).await;
    if outcome.is_err() {
        mirror.give_up();
    }
    outcome
}

async fn run_guest<D: Device>(
    mover: &DataMover,
    mirror: &Mirror<D>,
    options: &MigrateOptions,
    meter: &Meter,
) -> Result<(Migrated, Moved, Option<GuestStatistics>), Failure> {
    let clock = mover.clock();
    let (stop, now) = (|| mover.is_interrupted(), || clock.now());
    let progress = |bytes| meter.advance(bytes);
    let publish = async |destination: &Endpoint<D>| match destination {
        Endpoint::Disk(disk) => disk.publish().await,
        Endpoint::Unit { .. } => Ok(()),
    };
    let Some(options_of_load) = options.load else {
        let (migrated, moved) =
            migrate_under(mirror, &stop, &progress, publish, &now).await.map_err(Failure::Migrate)?;
        return Ok((migrated, moved, None));
    };
    let load = Load::new(options_of_load, mirror.size());
    load.fill(mirror, &stop).await.map_err(Failure::Load)?;
    if stop() {
        // The guest would not verify blocks that it has not written.
        return Err(Failure::Migrate(MigrateError::Interrupted));
    }
    // The guest runs for a while, or until an interruption.
    let settle = async || {
        let until = clock.now() + options.settle;
        while clock.now() < until && !stop() {
            clock.sleep(POLL_PERIOD.min(until.saturating_sub(clock.now()))).await;
        }
    };
    let work = async {
        settle().await;
        let migrated = migrate_under(mirror, &stop, &progress, publish, &now).await;
        // The guest continues at the disk's present side.
        settle().await;
        load.stop();
        migrated
    };
    let guest = load.run(mirror, clock);
    let migrated = match future::select(pin!(guest), pin!(work)).await {
        Either::Right((migrated, guest)) => {
            guest.await.map_err(Failure::Load)?;
            migrated
        }
        Either::Left((ended, work)) => {
            // The guest ended by itself, which it does only with an error; the disk stays at the
            // source.
            mirror.give_up();
            let _stays = work.await;
            ended.map_err(Failure::Load)?;
            Err(MigrateError::Interrupted)
        }
    };
    load.verify(mirror).await.map_err(Failure::Load)?;
    let (migrated, moved) = migrated.map_err(Failure::Migrate)?;
    let seen = seen(&load.samples(), migrated);
    Ok((migrated, moved, Some(seen)))
}

/// Latency before, during and after the copy.
fn seen(samples: &[Sample], migrated: Migrated) -> GuestStatistics {
    let (begin, end) = migrated.copying;
    let mut words = format!("guest: {} requests, every acknowledged write present at the end", samples.len());
    let mut phases = Vec::new();
    for (name, from, to) in [("before", Duration::ZERO, begin), ("copying", begin, end), ("after", end, Duration::MAX)]
    {
        let mut times: Vec<Duration> = samples
            .iter()
            .filter(|sample| sample.ended > from && sample.ended <= to)
            .map(|sample| sample.took)
            .collect();
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        words += &format!(
            "\n  {name:8} {} requests, p50 {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
            times.len(),
            ms(at(50)),
            ms(at(99)),
            ms(at(100))
        );
        phases.push(json!({
            "phase": name, "requests": times.len(), "p50_ms": ms(at(50)), "p99_ms": ms(at(99)), "longest_ms": ms(at(100)),
        }));
    }
    GuestStatistics { words, json: json!({ "requests": samples.len(), "phases": phases }) }
}
