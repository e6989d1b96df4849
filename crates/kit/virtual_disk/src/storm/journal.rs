//! Journal of a host: each operation and its result on a line, synced before the host continues.

use crate::error::DiskError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Operation of a host on the datastore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// Increments the touch count of a shared file.
    Touch { file: String },
    /// Increments a number in a shared disk.
    Add { disk: String },
    /// Renames the moving file to its other name.
    Move { from: String, to: String },
    /// Creates a disk of this host.
    Create { disk: String, format: String, size: u64 },
    /// Grows a disk.
    Grow { disk: String, size: u64 },
    /// Writes a sector.
    Write { disk: String, slot: u64, stamp: u64 },
    /// Deletes a disk.
    Delete { disk: String },
    /// Renames a disk.
    Rename { from: String, to: String },
    /// Snapshots a disk; later operations use the new disk over it.
    Snapshot { disk: String, name: String },
    /// Creates a linked clone; the base may be the shared template.
    LinkedClone { base: String, name: String },
    /// Commits a disk into the one below.
    Commit { disk: String },
}

/// Line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A process of the host begins.
    Life,
    /// An operation begins.
    Begin(Operation),
    /// The last operation took effect.
    Done,
    /// The last operation did not take effect, and will not.
    Undone,
    /// The last operation may have taken effect.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens or creates the journal, and returns its entries. An incomplete last line of a dying
    /// host is cut off.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Entry>), DiskError> {
        let failed = |error| DiskError::File { what: format!("cannot use the journal {}", path.display()), error };
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let entries = parse(text.get(..whole).unwrap_or_default(), path)?;
        Ok((Self { file, path: path.to_owned() }, entries))
    }

    /// Reads the entries of a journal.
    pub(crate) fn read(path: &Path) -> Result<Vec<Entry>, DiskError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| DiskError::File { what: format!("cannot read the journal {}", path.display()), error })?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        parse(text.get(..whole).unwrap_or_default(), path)
    }

    /// Adds a line, and syncs it before returning.
    pub(crate) fn write(&mut self, entry: &Entry) -> Result<(), DiskError> {
        let failed = |error| DiskError::File { what: format!("cannot write {}", self.path.display()), error };
        let mut line = serde_json::to_vec(entry).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(failed)
    }
}

fn parse(text: &str, path: &Path) -> Result<Vec<Entry>, DiskError> {
    let entry = |line: &str| {
        serde_json::from_str(line).map_err(|error| DiskError::Wrong(format!("{}: {error}: {line}", path.display())))
    };
    text.lines().map(entry).collect()
}
