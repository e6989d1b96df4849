//! A whole logical unit as the destination of a copy. The progress, for `--resume`, is stored in a
//! file of the user (`windlass/clone-IDENTIFIER.json` in `XDG_STATE_HOME`, else `~/.local/state`).
//!
//! Other hosts may have written to the unit between two commands. The state that an interrupted
//! copy leaves is recognised: before the note's `copied_bytes` both sides are equal; up to its
//! `reached_bytes` the unit holds the source's data or zeros; behind that it holds no data. Any
//! other data is overwritten only where `--destroy-data` names the unit.

use super::{COMPARED_BYTES, CloneOptions, copy, mark, other_size, other_source, same_until};
use crate::endpoint::{Endpoint, SECTOR_BYTES};
use crate::error::DiskError;
use crate::holds_data::{check_destroy, holds_data_from, unit_name};
use crate::kit::Kit;
use crate::location::Location;
use crate::progress::Meter;
use ::datastore::{DatastoreError, SourceMark};
use data_mover::{Device, DeviceError};
use futures_util::future;
use initiator::LogicalUnit;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Progress of a copy to a whole logical unit.
#[derive(Serialize, Deserialize)]
struct Note {
    /// Source as a [`SourceMark`].
    source: [u8; 32],
    size_bytes: u64,
    /// Bytes copied, from the beginning on.
    copied_bytes: u64,
    /// Bytes behind which no copy has begun. Missing in older notes.
    #[serde(default)]
    reached_bytes: u64,
}

fn note_file(unit: &str) -> Result<PathBuf, DiskError> {
    let directory = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = directory("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| directory("HOME").map(|home| home.join(".local/state")));
    let base = base.ok_or_else(|| {
        DiskError::Usage("--resume stores its progress under XDG_STATE_HOME or HOME, and neither is set".into())
    })?;
    let plain: String = unit.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect();
    Ok(base.join("windlass").join(format!("clone-{plain}.json")))
}

fn read_note(path: &Path) -> Option<Note> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn write_note(path: &Path, note: &Note) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let new = path.with_extension("new");
    std::fs::write(&new, serde_json::to_vec(note).map_err(io::Error::other)?)?;
    std::fs::rename(&new, path)
}

/// Returns the size, and the bytes that an earlier command had copied.
pub(super) async fn to_unit(
    kit: &Kit,
    from: &Location,
    source: &Endpoint<LogicalUnit>,
    to: &Location,
    options: &CloneOptions,
    meter: &Meter,
) -> Result<(u64, u64), DiskError> {
    let unit = kit.unit(&to.url).await?;
    let size = source.size();
    let room = unit.identity().blocks.saturating_mul(unit.identity().block_bytes.into());
    if room < size {
        let words = format!("{to} has {}, {from} {}", text::size::format(room), text::size::format(size));
        return Err(DiskError::Usage(words));
    }
    let kept = match options.resume {
        true => Some((note_file(&unit_name(&to.url, &unit))?, mark(from, source).await?)),
        false => None,
    };
    meter.total(size);
    let destination = kit.whole_unit(&to.url).await?;
    let file_error = |error| DiskError::File { what: "cannot store the progress of the copy".into(), error };
    // End of the range that an earlier command may have written.
    let reached = Cell::new(0);
    let begin = match kept.as_ref().and_then(|(path, mark)| Some((path, mark, read_note(path)?))) {
        Some((path, mark, note)) => {
            let remove = format!("to start over, remove {}", path.display());
            if !mark.continues(&SourceMark::from_bytes(&note.source)) {
                return Err(other_source(from, to, &remove));
            }
            if note.size_bytes != size {
                return Err(other_size(from, to, (note.size_bytes, size), &remove));
            }
            let copied = note.copied_bytes.min(size);
            reached.set(note.reached_bytes.clamp(copied, size));
            // Opening the source has changed its mark, which is stored even if the copy is refused
            // now.
            write_note(path, &Note { source: mark.to_bytes(), ..note }).map_err(file_error)?;
            let same = same_until(source, &destination, copied, meter).await;
            let same = same.map_err(|error| DiskError::datastore(to, error))?;
            if same < copied || options.destroy.is_some() {
                // The unit or the source was written in between, so the data may belong to another
                // user.
                check_destroy(kit, &to.url, &unit, options.destroy.as_deref()).await?;
            } else {
                check_rest(kit, to, (source, &destination), &unit, copied..reached.get()).await?;
            }
            same
        }
        None => {
            check_destroy(kit, &to.url, &unit, options.destroy.as_deref()).await?;
            0
        }
    };
    meter.resume(begin);
    let note = async |region: Range<u64>| {
        reached.set(reached.get().max(region.end));
        let Some((path, mark)) = &kept else { return Ok(()) };
        let (copied_bytes, reached_bytes) = (region.start, reached.get());
        let note = Note { source: mark.to_bytes(), size_bytes: size, copied_bytes, reached_bytes };
        write_note(path, &note).map_err(|error| DatastoreError::Unsuitable(file_error(error).to_string()))
    };
    match copy(source, &destination, begin, meter, note).await {
        Ok(()) => {
            if let Some((path, _)) = &kept {
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(file_error(error)),
                    _ => {}
                }
            }
            Ok((size, begin))
        }
        Err((_, error @ DatastoreError::Changed(_))) => {
            if let Some((path, _)) = &kept {
                let _nothing_to_go_on_with = std::fs::remove_file(path);
            }
            Err(DiskError::datastore(format!("{to} is overwritten and holds no valid copy; {from}"), error))
        }
        Err((at, error)) => {
            let _kept = note(at..at).await;
            let interrupted = matches!(error, DatastoreError::Device(DeviceError::Interrupted));
            let words = match options.resume {
                true => {
                    format!("{} of {to} are written; repeat the command to continue from there", text::size::format(at))
                }
                false => overwritten(to, at, reached.get()),
            };
            Err(match interrupted {
                true => DiskError::Interrupted(words),
                false => DiskError::datastore(format!("{words}; {to}"), error),
            })
        }
    }
}

/// Describes a destination of which everything is copied up to `at`, and nothing written behind
/// `reached`.
fn overwritten(to: &Location, at: u64, reached: u64) -> String {
    match reached {
        0 => format!("{to} is unchanged"),
        reached if reached == at => {
            format!("the first {} of {to} are overwritten, the rest is unchanged", text::size::format(at))
        }
        reached => {
            format!("at most the first {} of {to} are overwritten, the rest is unchanged", text::size::format(reached))
        }
    }
}

/// Refuses a unit with data that the interrupted copy, which was writing in `region`, cannot have
/// written, or with a datastore that a host has mounted. The part before the region has been
/// compared.
async fn check_rest(
    kit: &Kit,
    to: &Location,
    (source, destination): (&Endpoint<LogicalUnit>, &Endpoint<LogicalUnit>),
    unit: &LogicalUnit,
    region: Range<u64>,
) -> Result<(), DiskError> {
    kit.check_not_mounted(&to.url).await?;
    let behind = region.end / u64::from(unit.identity().block_bytes.max(1));
    let first_foreign_sector =
        first_foreign_sector(source, destination, region).await.map_err(|error| DiskError::datastore(to, error))?;
    let found = match first_foreign_sector {
        Some(lba) => Some(format!("LBA {lba} holds data that the interrupted copy cannot have written")),
        None => holds_data_from(kit.mover(), unit, behind).await.map_err(|error| DiskError::device(&to.url, error))?,
    };
    match found {
        None => Ok(()),
        Some(found) => Err(DiskError::HoldsData { on: to.to_string(), found, name: unit_name(&to.url, unit) }),
    }
}

/// First sector in a region that holds neither zeros nor the source's data.
async fn first_foreign_sector<D: Device>(
    source: &Endpoint<D>,
    destination: &Endpoint<D>,
    region: Range<u64>,
) -> Result<Option<u64>, DatastoreError> {
    let sector_bytes = usize::try_from(SECTOR_BYTES).unwrap_or(usize::MAX);
    let mut at = region.start;
    while at < region.end {
        if source.mover().is_interrupted() {
            return Err(DeviceError::Interrupted.into());
        }
        let bytes = COMPARED_BYTES.min(region.end - at);
        let (one, other) = future::try_join(source.read(at, bytes), destination.read(at, bytes)).await?;
        let pairs = (at / SECTOR_BYTES..).zip(one.chunks(sector_bytes).zip(other.chunks(sector_bytes)));
        let ours = |one: &[u8], other: &[u8]| one == other || other.iter().all(|byte| *byte == 0);
        if let Some((lba, _)) = pairs.into_iter().find(|(_, (one, other))| !ours(one, other)) {
            return Ok(Some(lba));
        }
        at += bytes;
    }
    Ok(None)
}
