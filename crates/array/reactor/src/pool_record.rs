//! Record of the pool that a state directory has served: the file `pool.record` beside the pool.
//!
//! A file system that is not mounted, a pool that was moved, and a misspelt name look like a first
//! start. The record tells them apart: where a pool was served before, a missing one is an error,
//! and an administrator who means a new, empty pool has to say so (`--new-pool`). Another pool in
//! its place, as after swapped mounts, is an error too, until the administrator accepts it
//! (`--adopt-pool`).

use crate::ServeError;
use crate::state_files::write_private;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of the file.
const FILE_NAME: &str = "pool.record";
/// First lines of the file.
const HEADING: &str = "# The pool that this state directory serves. The array writes this file; without it, a missing\n\
                       # pool may be taken for a first start.\n";

/// Pool that a state directory has served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PoolRecord {
    /// Name of the pool in every interface.
    pub name: String,
    /// File or block device.
    pub path: PathBuf,
    /// Identifier from the superblock. Absent before the first pool is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

impl PoolRecord {
    /// Reads the record; `None` if there is none or it is damaged.
    fn read(state_dir: &Path) -> Option<Self> {
        toml::from_str(&std::fs::read_to_string(state_dir.join(FILE_NAME)).ok()?).ok()
    }

    /// Stores the record, unless it is stored already. An array that cannot store it serves all the
    /// same, since its file system may be full. The record of another pool goes in that case: with it
    /// the next start would refuse this pool.
    pub(crate) fn write(&self, state_dir: &Path) {
        let old = Self::read(state_dir);
        if old.as_ref() == Some(self) {
            return;
        }
        let path = state_dir.join(FILE_NAME);
        let text = toml::to_string(self).map_err(anyhow::Error::new);
        let stored = text.and_then(|text| write_private(&path, &format!("{HEADING}{text}")));
        if let Err(error) = stored.and_then(|()| Ok(std::fs::File::open(state_dir)?.sync_all()?)) {
            tracing::warn!(error = %format_args!("{error:#}"), "the record of the pool cannot be stored: should the pool be missing at a later start, a new one may be created");
            if old.is_some_and(|old| old.uuid != self.uuid)
                && let Err(error) = std::fs::remove_file(&path)
            {
                tracing::warn!(%error, "{} still names another pool: the next start will refuse this one", path.display());
            }
        }
    }
}

/// Refuses a pool other than the recorded one. A record without an identifier and one that cannot
/// be read refuse none: a damaged record is no reason to stay offline.
pub(crate) fn check_recorded(state_dir: &Path, path: &Path, uuid: &str) -> Result<(), ServeError> {
    match PoolRecord::read(state_dir) {
        Some(PoolRecord { uuid: Some(recorded), path: recorded_path, .. }) if recorded != uuid => {
            let (path, uuid) = (path.to_owned(), uuid.to_owned());
            Err(ServeError::OtherPool { path, uuid, recorded_path, recorded })
        }
        _ => Ok(()),
    }
}

/// Returns the sign that the state directory has served a pool, in words, or `None` for a fresh
/// directory, which then gets a record without an identifier. `without_record`: a release that recorded
/// no pool has been started there.
pub fn sign_of_a_pool(directory: &Path, without_record: bool, name: &str, pool: &Path) -> Option<String> {
    let path = directory.join(FILE_NAME);
    if path.exists() {
        return match PoolRecord::read(directory) {
            Some(PoolRecord { uuid: None, .. }) => other_pool(directory, pool),
            Some(record) => Some(format!("{} records the pool {}", path.display(), record.path.display())),
            None => Some(format!("{} exists, and is damaged", path.display())),
        };
    }
    // A token is no sign: an administrator may have put it there before the first start.
    let sign = other_pool(directory, pool).or_else(|| {
        let sign = || format!("an earlier release has served a pool in {}", directory.display());
        without_record.then(sign)
    });
    if sign.is_none() {
        PoolRecord { name: name.to_owned(), path: pool.to_owned(), uuid: None }.write(directory);
    }
    sign
}

/// Another file in the directory that is not empty and has the name of a pool. Its content is not
/// examined: a damaged pool is a pool.
fn other_pool(state_dir: &Path, pool: &Path) -> Option<String> {
    let own = std::fs::canonicalize(pool).ok();
    let entries = std::fs::read_dir(state_dir).ok()?.filter_map(Result::ok);
    let mut others = entries.filter(|entry| {
        let path = entry.path();
        let is_own = path == pool || own.is_some() && std::fs::canonicalize(&path).ok() == own;
        !is_own
            && path.extension().is_some_and(|extension| extension == "pool")
            && std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() > 0)
    });
    others.next().map(|other| format!("{} is there and may be the array's pool", other.path().display()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;

    /// Regression: a pool that was accepted while the state directory was full was refused by the
    /// next start.
    #[test]
    fn a_record_that_cannot_be_replaced_refuses_no_pool() {
        let directory = tempfile::tempdir().unwrap();
        let state_dir = directory.path();
        let record = |uuid: &str| PoolRecord { name: "p0".into(), path: "/p0".into(), uuid: Some(uuid.into()) };
        record("a").write(state_dir);
        assert!(check_recorded(state_dir, Path::new("/p0"), "b").is_err());
        // A directory in the place of the new record's partial file.
        let in_the_way = state_dir.join(FILE_NAME).with_extension("partial");
        std::fs::create_dir(&in_the_way).unwrap();
        record("b").write(state_dir);
        assert!(check_recorded(state_dir, Path::new("/p0"), "b").is_ok());
        std::fs::remove_dir(&in_the_way).unwrap();
        record("b").write(state_dir);
        assert!(check_recorded(state_dir, Path::new("/p0"), "a").is_err());
    }
}
