//! The logical units of a run: connecting, searching for data, wiping.

use crate::bench::Bench;
use crate::device::{Place, Unit};
use crate::error::LabError;
use crate::host::Connection;
use crate::outcome::Side;
use crate::results::Subject;
use data_mover::{DataMover, Extent, Identity, Settings};
use datastore::Datastore;
use futures_util::future;
use initiator::url::Url;
use initiator::{LogicalUnit, Options, Session, SystemClock};
use random::Random;
use std::rc::Rc;
use std::time::Duration;

/// Bytes searched at the beginning and at the end.
const EDGE_BYTES: u64 = 1 << 20;
/// Number of samples between them, and the bytes of each.
const SAMPLES: u64 = 256;
const SAMPLE_BYTES: u64 = 4 << 10;
const READ_BYTES: u64 = 64 << 10;
/// Time limit for commands whose answers are no longer awaited.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// Connects host number `number` to the units. Each host has its own name or, with `initiator`, the
/// common name and its own ISIDs.
pub(crate) async fn connect(
    urls: &[Url],
    initiator: Option<&str>,
    options: &Options,
    number: u32,
) -> Result<Connection, LabError> {
    let qualifier = u16::try_from(number).unwrap_or(u16::MAX);
    let initiator_name = match initiator {
        Some(name) => name.to_owned(),
        None => format!("{}-{number}", options.initiator_name),
    };
    let mut sessions: Vec<(Url, Session)> = Vec::new();
    let mut units = Vec::new();
    for url in urls {
        let known = sessions.iter().find(|(other, _)| other.same_session(url)).map(|(_, session)| session.clone());
        let session = match known {
            Some(session) => session,
            None => {
                let options = Options { initiator_name: initiator_name.clone(), qualifier, ..options.clone() };
                let options = options.with_other_isid(sessions.len());
                let session = Session::connect(url, &options).await?;
                sessions.push((url.clone(), session.clone()));
                session
            }
        };
        units.push(Unit::Iscsi(LogicalUnit::find_to_lock(&session, url.lun).await?));
    }
    Ok(Connection { units, sessions: sessions.into_iter().map(|(_, session)| session).collect() })
}

/// Describes the unit at a URL.
pub(crate) async fn subject(url: &Url, unit: &Unit) -> Result<Subject, LabError> {
    let identity = unit.identity();
    let (vendor, product, revision) = match unit {
        Unit::Iscsi(unit) => {
            let inquiry = unit.inquiry(None).await?;
            let text = |range: std::ops::Range<usize>| {
                String::from_utf8_lossy(inquiry.get(range).unwrap_or_default()).trim().to_owned()
            };
            (text(8..16), text(16..32), text(32..36))
        }
        #[cfg(test)]
        Unit::Memory(_) => (identity.array.clone(), String::new(), String::new()),
    };
    let size_bytes = identity.blocks.saturating_mul(identity.block_bytes.into());
    Ok(Subject { url: url.to_string(), vendor, product, revision, naa: identity.naa_digits(), size_bytes })
}

/// Names of a unit that `--destroy-data` accepts: TARGET/LUN first.
pub(crate) fn names(url: &Url, identity: &Identity) -> Vec<String> {
    let mut names = vec![format!("{}/{}", url.target, url.lun)];
    if let Some(naa) = identity.naa_digits() {
        names.push(format!("naa.{naa}"));
        names.push(naa);
    }
    names
}

/// Refuses a unit with a datastore that a living host has mounted, even if the unit was named.
pub(crate) async fn check_not_mounted(url: &Url, unit: &Unit) -> Result<(), LabError> {
    let mover = Rc::new(DataMover::new(Settings::default(), Rc::new(SystemClock::default())));
    let mounted = match unit {
        Unit::Iscsi(unit) => Datastore::mounted_by(Rc::new(unit.clone()), mover).await?,
        #[cfg(test)]
        Unit::Memory(unit) => Datastore::mounted_by(Rc::new(unit.clone()), mover).await?,
    };
    match mounted {
        None => Ok(()),
        Some((datastore, slot)) => Err(LabError::Mounted { url: url.to_string(), datastore, host: slot.host }),
    }
}

/// Limit of bytes read to find data.
const READ_AT_MOST: u64 = 1 << 30;

/// Describes the data on a unit before all of it is overwritten; `None` when it is empty. If the
/// unit reports its mapped blocks (GET LBA STATUS), these are read, otherwise all blocks. More than
/// can be read counts as data.
pub(crate) async fn any_data(unit: &Unit) -> Result<Option<String>, LabError> {
    let identity = unit.identity();
    let limit = READ_AT_MOST / u64::from(identity.block_bytes.max(1));
    let (extents, left) = match unit {
        Unit::Iscsi(iscsi) => match iscsi.mapped(0..identity.blocks, limit).await {
            Ok(Some((extents, all))) => (extents, (!all).then_some("more than 1 GiB are mapped")),
            Err(error) if error.is_lost() => return Err(error.into()),
            Ok(None) | Err(_) => {
                let all = identity.blocks <= limit;
                let words =
                    "it does not report its mapped blocks (GET LBA STATUS) and is too large to be read completely";
                (vec![Extent { lba: 0, blocks: identity.blocks.min(limit) }], (!all).then_some(words))
            }
        },
        #[cfg(test)]
        Unit::Memory(_) => (vec![Extent { lba: 0, blocks: identity.blocks.min(limit) }], None),
    };
    let found = first_data(unit, extents).await?.map(|lba| format!("LBA {lba} is not zero"));
    Ok(found.or(left.map(str::to_owned)))
}

/// First block with data in these extents, read one after the other.
async fn first_data(unit: &Unit, extents: impl IntoIterator<Item = Extent>) -> Result<Option<u64>, LabError> {
    let block_bytes = u64::from(unit.identity().block_bytes.max(1));
    let step = (READ_BYTES / block_bytes).max(1);
    for extent in extents {
        let (mut lba, end) = (extent.lba, extent.lba + extent.blocks);
        while lba < end {
            let blocks = step.min(end - lba);
            let data = unit.read(Extent { lba, blocks }).await?;
            if let Some(at) = data.iter().position(|byte| *byte != 0) {
                return Ok(Some(lba + at as u64 / block_bytes));
            }
            lba += blocks;
        }
    }
    Ok(None)
}

/// First block with data in a sample: the beginning, the end, and places between.
pub(crate) async fn data_at(unit: &Unit) -> Result<Option<u64>, LabError> {
    let identity = unit.identity();
    let block_bytes = u64::from(identity.block_bytes.max(1));
    let edge = (EDGE_BYTES / block_bytes).min(identity.blocks);
    let sample = (SAMPLE_BYTES / block_bytes).clamp(1, identity.blocks);
    let random = Random::new(identity.blocks);
    let mut places = vec![(0, edge), (identity.blocks - edge, edge)];
    // One sample in each of `SAMPLES` equal parts.
    let part = identity.blocks / SAMPLES;
    for number in (0..SAMPLES).filter(|_| part > sample) {
        places.push((number * part + random.below(part - sample), sample));
    }
    first_data(unit, places.into_iter().map(|(lba, blocks)| Extent { lba, blocks })).await
}

/// Result of wiping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wiped {
    /// The unit reads as zeros wherever it was sampled.
    Clean,
    /// The unit still holds data of the run.
    Left,
}

/// Wipes a unit by UNMAP or WRITE SAME. A unit that has neither keeps what was written, except for
/// its first mebibyte.
pub(crate) async fn wipe(bench: &Bench, unit: usize) -> Result<Wiped, LabError> {
    let Some(identity) = bench.units.get(unit) else { return Ok(Wiped::Clean) };
    let place = Place { unit, first: 0, blocks: identity.blocks };
    let all = Extent { lba: 0, blocks: identity.blocks };
    let host = bench.host(1, Side::On).await?;
    let slice = host.slice(place)?;
    let Some(whole) = host.connection.units.get(unit) else { return Ok(Wiped::Clean) };
    // Commands in flight of a cancelled case must not land after the wipe.
    for connection in bench.connections() {
        future::join_all(connection.sessions.iter().map(|session| session.wait_idle(IDLE_LIMIT))).await;
        // Releases its reservations; the unit may not support the command.
        for unit in &connection.units {
            match unit.release().await {
                Err(error) if error.is_lost() => return Err(error.into()),
                _ => {}
            }
        }
    }
    host.mover.unmap_as_hint(&*slice, &[all]).await?;
    if data_at(whole).await?.is_none() {
        return Ok(Wiped::Clean);
    }
    if identity.limits.write_same > 0 {
        host.mover.zero(&*slice, all, true, &bench.progress(identity.blocks * u64::from(identity.block_bytes))).await?;
        if data_at(whole).await?.is_none() {
            return Ok(Wiped::Clean);
        }
    }
    let edge = (EDGE_BYTES / u64::from(identity.block_bytes.max(1))).min(identity.blocks);
    let zeros = bytes::Bytes::from(vec![0; usize::try_from(edge * u64::from(identity.block_bytes)).unwrap_or(0)]);
    whole.write(0, zeros).await?;
    match data_at(whole).await? {
        None => Ok(Wiped::Clean),
        Some(_) => Ok(Wiped::Left),
    }
}
