//! Copies: from a disk or a whole logical unit to a new disk or another logical unit, by the array
//! if it can.
//!
//! A copy to a datastore appears when it is complete. When it is interrupted or fails, the new disk
//! is removed. With [`CloneOptions::resume`] it is kept instead, with its progress and its source,
//! and the same command continues it. If a host takes the lock of the source in between, to write
//! or not, the copy cannot continue: it could mix two states of the source.
//!
//! Writes to a whole logical unit in between cannot be detected. If the source or the destination
//! is one, the copied part is first read on both sides, and the copy continues from the first
//! difference.

mod unit;

use super::{Done, close, format_name, open_source};
use crate::endpoint::Endpoint;
use crate::error::DiskError;
use crate::kit::Kit;
use crate::location::Location;
use crate::progress::Meter;
use ::datastore::{DatastoreError, DiskFormat, DiskOptions, Partial, SourceMark};
use data_mover::{Device, DeviceError};
use futures_util::future;
use initiator::LogicalUnit;
use serde_json::json;
use std::cell::Cell;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Least and largest size of a region in bytes; the first region has the least.
const REGION_BYTES: std::ops::RangeInclusive<u64> = 16 << 20..=1 << 30;
/// Target time of a region, so that an interrupted copy repeats little.
const REGION_TIME: Duration = Duration::from_millis(250);
/// Bytes of each side that are read at once for comparison.
const COMPARED_BYTES: u64 = 4 << 20;
/// Period between two progress notes on a datastore.
const NOTE_PERIOD: Duration = Duration::from_secs(1);

/// Parameters of a copy.
#[derive(Clone, Debug)]
pub struct CloneOptions {
    /// Format of the new disk.
    pub format: DiskFormat,
    /// Keep the copied part when the copy is interrupted, and continue from there.
    pub resume: bool,
    /// Name of a logical unit whose data may be lost.
    pub destroy: Option<String>,
}

/// Copies a disk or a whole logical unit.
pub async fn clone(
    kit: &Kit,
    from: &Location,
    to: &Location,
    options: &CloneOptions,
    meter: &Meter,
) -> Result<Done, DiskError> {
    kit.check_apart(from, to).await?;
    if let (Some(name), false) = (&to.disk, options.resume) {
        // Before the source is opened: opening takes its lock, after which an earlier partial copy
        // could not be continued.
        let store = kit.datastore(&to.url).await?;
        store.check_vacant(name).await.map_err(|error| DiskError::datastore(to, error))?;
    }
    let source = open_source(kit, from).await?;
    let result = match &to.disk {
        Some(name) => to_disk(kit, from, &source, (to, name), options, meter).await,
        None => unit::to_unit(kit, from, &source, to, options, meter).await,
    };
    let closed = close(source).await;
    let (size, resumed) = result?;
    closed.map_err(|error| DiskError::datastore(from, error))?;
    let format = to.disk.as_ref().map(|_| format_name(options.format));
    let kind = format.map_or_else(String::new, |format| format!(" {format}"));
    let part = match resumed {
        0 => String::new(),
        resumed => format!(", {} of them by an earlier command", text::size::format(resumed)),
    };
    let words = format!("cloned {from} to {to}: {}{kind}{part}", text::size::format(size));
    let json = json!({
        "source": from.to_string(),
        "disk": to.to_string(),
        "format": format,
        "capacity_bytes": size,
        "resumed_bytes": resumed,
    });
    Ok(Done::new(words, json))
}

/// Mark of the source of a copy.
async fn mark(from: &Location, source: &Endpoint<LogicalUnit>) -> Result<SourceMark, DiskError> {
    match source {
        Endpoint::Disk(disk) => {
            let marked = match disk.mark().await {
                // Checked again, because the mark must describe the content that is copied.
                Ok(mark) => disk.check_unchanged().await.map(|()| mark),
                Err(error) => Err(error),
            };
            marked.map_err(|error| DiskError::datastore(from, error))
        }
        Endpoint::Unit { unit, .. } => {
            let naa = unit.device().identity().naa;
            let naa = naa.ok_or_else(|| {
                DiskError::Usage(format!("{from} has no NAA identifier, by which --resume recognises it"))
            });
            Ok(SourceMark::of_unit(naa?))
        }
    }
}

/// Error: the existing copy is not a beginning of this source. `remove` says how to start over.
fn other_source(from: &Location, to: &Location, remove: &str) -> DiskError {
    DiskError::Usage(format!(
        "the partial copy at {to} cannot continue from {from}: it was copied from another disk, or a host has opened the disk since; {remove}"
    ))
}

fn other_size(from: &Location, to: &Location, (begun, now): (u64, u64), remove: &str) -> DiskError {
    let (begun, now) = (text::size::format(begun), text::size::format(now));
    DiskError::Usage(format!("the copy at {to} was started when {from} had {begun}, and it now has {now}; {remove}"))
}

/// Reason why an earlier copy cannot continue with these parameters, and whether it can with
/// others; `None` when it can continue.
fn unlike(
    from: &Location,
    to: &Location,
    (mark, size, format): (&SourceMark, u64, DiskFormat),
    (begun, begun_as): (&Partial, DiskFormat),
) -> Option<(DiskError, bool)> {
    let remove = "remove it with  windlass disk delete";
    if !mark.continues(&begun.source) {
        return Some((other_source(from, to, remove), false));
    }
    if begun.size != size {
        return Some((other_size(from, to, (begun.size, size), remove), false));
    }
    let name = format_name(begun_as);
    let words = format!("the copy at {to} was started as {name}: continue it with  -d {name},  or {remove}");
    (begun_as != format).then_some((DiskError::Usage(words), true))
}

/// Returns the size, and the bytes that an earlier command had copied.
async fn to_disk(
    kit: &Kit,
    from: &Location,
    source: &Endpoint<LogicalUnit>,
    (to, name): (&Location, &str),
    options: &CloneOptions,
    meter: &Meter,
) -> Result<(u64, u64), DiskError> {
    let store = kit.datastore(&to.url).await?;
    let failed = |error| DiskError::datastore(to, error);
    let size = source.size();
    meter.total(size);
    let mark = if options.resume { Some(mark(from, source).await?) } else { None };
    let earlier = match options.resume {
        true => store.resume_disk(name).await.map_err(failed)?,
        false => None,
    };
    let (disk, begin) = match (earlier, &mark) {
        (Some((disk, partial)), Some(mark)) => {
            match unlike(from, to, (mark, size, options.format), (&partial, disk.format())) {
                None => (disk, partial.copied),
                Some((error, true)) => {
                    // Opening the source changed its mark; the new one is stored, so that the copy
                    // can still continue.
                    disk.close_partial(mark, partial.copied).await.map_err(failed)?;
                    return Err(error);
                }
                Some((error, false)) => {
                    disk.close().await.map_err(failed)?;
                    return Err(error);
                }
            }
        }
        _ => {
            let created = store.begin_disk(name, DiskOptions { format: options.format, size }).await;
            (created.map_err(failed)?, 0)
        }
    };
    let destination = Endpoint::Disk(Box::new(disk));
    let begin = match source {
        Endpoint::Unit { .. } => match same_until(source, &destination, begin, meter).await {
            Ok(same) => same,
            Err(error) => {
                let Endpoint::Disk(disk) = destination else { return Err(failed(error)) };
                return Err(keep_or_remove(*disk, &mark, begin, failed(error), to, kit).await);
            }
        },
        Endpoint::Disk(_) => begin,
    };
    meter.resume(begin);
    let noted = Cell::new(None::<Instant>);
    let note = async |region: Range<u64>| match (&destination, &mark) {
        (Endpoint::Disk(disk), Some(mark)) if noted.get().is_none_or(|noted| noted.elapsed() >= NOTE_PERIOD) => {
            noted.set(Some(Instant::now()));
            disk.keep_partial(mark, region.start).await
        }
        _ => Ok(()),
    };
    let reached = copy(source, &destination, begin, meter, note).await;
    let Endpoint::Disk(disk) = destination else { return Ok((size, begin)) };
    let published = match &reached {
        Ok(()) => disk.publish().await.map_err(|error| (size, error)),
        Err(_) => Ok(()),
    };
    match reached.and(published) {
        Ok(()) => {
            disk.close().await.map_err(failed)?;
            Ok((size, begin))
        }
        Err((_, error @ DatastoreError::Changed(_))) => {
            // The partial copy is useless.
            let _removed = disk.abandon().await;
            Err(DiskError::datastore(from, error))
        }
        Err((at, error)) => Err(keep_or_remove(*disk, &mark, at, failed(error), to, kit).await),
    }
}

/// After an interruption or a failure: keeps the partial copy with `--resume`, else removes it.
async fn keep_or_remove(
    disk: ::datastore::VirtualDisk<LogicalUnit>,
    mark: &Option<SourceMark>,
    at: u64,
    error: DiskError,
    to: &Location,
    kit: &Kit,
) -> DiskError {
    let interrupted = kit.mover().is_interrupted();
    let left = match mark {
        Some(mark) => disk.close_partial(mark, at).await.map(|()| {
            format!("{} of {to} are kept; repeat the command to continue from there", text::size::format(at))
        }),
        None => disk.abandon().await.map(|()| format!("{to} was removed")),
    };
    match (interrupted, left) {
        (true, Ok(words)) => DiskError::Interrupted(words),
        (true, Err(_)) => DiskError::Interrupted(format!("{to} could not be tidied up; a later host does so")),
        // The original error matters more; a partial copy that cannot be reached is removed or kept
        // by a later host.
        (false, _) => error,
    }
}

/// Copies from `begin` on. `note` is called before each region, when everything before it is
/// copied. An error comes with the bytes copied; [`DatastoreError::Changed`] means that the source
/// was changed and the copy is useless.
async fn copy<D: Device>(
    source: &Endpoint<D>,
    destination: &Endpoint<D>,
    begin: u64,
    meter: &Meter,
    note: impl AsyncFn(Range<u64>) -> Result<(), DatastoreError>,
) -> Result<(), (u64, DatastoreError)> {
    let size = source.size();
    let least = REGION_BYTES.start().max(&source.grain()).max(&destination.grain()).to_owned();
    let mut region = least;
    let mut at = begin;
    while at < size {
        if source.mover().is_interrupted() {
            return Err((at, DeviceError::Interrupted.into()));
        }
        let bytes = region.min(size - at);
        note(at..at + bytes).await.map_err(|error| (at, error))?;
        let begun = Instant::now();
        let copied = destination.copy_from(source.source(), at, bytes, &|bytes| meter.advance(bytes)).await;
        copied.map_err(|error| (at, error))?;
        at += bytes;
        if begun.elapsed() < REGION_TIME / 2 {
            region = (region * 2).min(REGION_BYTES.end().max(&least).to_owned());
        } else if begun.elapsed() > REGION_TIME {
            region = (region / 2).max(least);
        }
    }
    source.source().check_unchanged().await.map_err(|error| (at, error))
}

/// Reads both sides up to `end`; returns the first difference, rounded down, or `end`.
async fn same_until<D: Device>(
    source: &Endpoint<D>,
    destination: &Endpoint<D>,
    end: u64,
    meter: &Meter,
) -> Result<u64, DatastoreError> {
    let grain = REGION_BYTES.start().max(&source.grain()).max(&destination.grain()).to_owned();
    let mut at = 0;
    while at < end {
        if source.mover().is_interrupted() {
            return Err(DeviceError::Interrupted.into());
        }
        let bytes = COMPARED_BYTES.min(end - at);
        let (one, other) = future::try_join(source.read(at, bytes), destination.read(at, bytes)).await?;
        if one != other {
            break;
        }
        at += bytes;
        meter.advance(bytes);
    }
    // Copies begin at a multiple of both grains.
    Ok(if at < end { at / grain * grain } else { end })
}
