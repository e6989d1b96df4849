//! What a host is about to do and what came of it, a line each, on the disk before the host goes on.

use crate::error::DiskError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Something that a host does to the datastore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// Raises the count of a shared file by one.
    Touch { file: String },
    /// Adds one to a number in a shared disk.
    Add { disk: String },
    /// Gives the moving file its other name.
    Move { from: String, to: String },
    /// Makes a disk of this host.
    Create { disk: String, format: String, size: u64 },
    /// Makes it larger.
    Grow { disk: String, size: u64 },
    /// Writes a sector.
    Write { disk: String, slot: u64, stamp: u64 },
    /// Deletes it.
    Delete { disk: String },
    /// Renames it.
    Rename { from: String, to: String },
    /// Goes on in another disk over it.
    Snapshot { disk: String, name: String },
    /// Makes a linked clone; the base may be the shared template.
    LinkedClone { base: String, name: String },
    /// Puts it into the one below.
    Commit { disk: String },
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A process begins.
    Life,
    /// An operation begins.
    Begin(Operation),
    /// The last one has taken effect.
    Done,
    /// It has not, and will not.
    Undone,
    /// It may have.
    Unknown,
}

#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Opens or makes it, and returns what it holds. A line that a dying host did not finish never counted, and is cut off.
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

    /// What a journal holds.
    pub(crate) fn read(path: &Path) -> Result<Vec<Entry>, DiskError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| DiskError::File { what: format!("cannot read the journal {}", path.display()), error })?;
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        parse(text.get(..whole).unwrap_or_default(), path)
    }

    /// Adds a line; it is on the disk when this returns.
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
