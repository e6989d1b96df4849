//! Holds of files that no client has open any more, and the releases that failed.

use nfs_state::FileKey;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use vfs::FsError;

/// Most files whose release failed. Then no other is begun, so that they fill the table of opens, which is limited.
const MOST_FAILED: usize = 1024;

/// Releases of holds that failed, and are tried again.
#[derive(Default)]
pub(super) struct Releases {
    /// Holds of each file that are due.
    failed: RefCell<BTreeMap<FileKey, u32>>,
}

impl Releases {
    /// Whether a release may begin.
    pub fn has_room(&self) -> bool {
        self.failed.borrow().len() < MOST_FAILED
    }

    /// Notes the result of a release. After an error the hold stays due.
    pub fn note(&self, file: FileKey, released: Result<(), FsError>) -> Result<(), FsError> {
        match released {
            // The share was rolled back or deleted, and the file with it.
            Ok(()) | Err(FsError::Stale | FsError::Gone) => Ok(()),
            Err(error) => {
                *self.failed.borrow_mut().entry(file).or_default() += 1;
                Err(error)
            }
        }
    }

    /// Tries each file once that has failed releases. Returns the first error.
    pub async fn retry(&self, release: impl AsyncFn(FileKey) -> Result<(), FsError>) -> Result<(), FsError> {
        let (mut after, mut result) = (Bound::Unbounded, Ok(()));
        while let Some(file) = self.take_behind(after) {
            after = Bound::Excluded(file);
            let released = self.note(file, release(file).await);
            result = result.and(released);
        }
        result
    }

    /// Takes a hold of the next file that is due.
    fn take_behind(&self, after: Bound<FileKey>) -> Option<FileKey> {
        let mut failed = self.failed.borrow_mut();
        let (file, holds) = failed.range_mut((after, Bound::Unbounded)).next()?;
        let file = *file;
        *holds -= 1;
        if *holds == 0 {
            failed.remove(&file);
        }
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ready;

    const FAILED: FsError = FsError::ReadFailed { file: vfs::FileId(1), offset_bytes: None };

    fn key(file: u64) -> FileKey {
        FileKey { share: 7, file }
    }

    /// Files that a round of retries tries; those in `fail` fail.
    fn round(releases: &Releases, fail: &[u64]) -> (Vec<u64>, Result<(), FsError>) {
        let tried = RefCell::new(Vec::new());
        let result = ready(releases.retry(async |file| {
            tried.borrow_mut().push(file.file);
            if fail.contains(&file.file) { Err(FAILED) } else { Ok(()) }
        }));
        (tried.take(), result)
    }

    #[test]
    fn a_hold_stays_due_until_its_release_succeeds() {
        let releases = Releases::default();
        for file in [1, 2, 2, 3] {
            assert_eq!(releases.note(key(file), Err(FAILED)), Err(FAILED));
        }
        // A file that fails holds up no other.
        assert_eq!(round(&releases, &[1]), (vec![1, 2, 3], Err(FAILED)));
        assert_eq!(round(&releases, &[]), (vec![1, 2], Ok(())));
        assert_eq!(round(&releases, &[]), (vec![], Ok(())));
    }

    #[test]
    fn a_file_that_is_gone_is_not_tried_again() {
        let releases = Releases::default();
        for released in [Ok(()), Err(FsError::Stale), Err(FsError::Gone)] {
            assert_eq!(releases.note(key(1), released), Ok(()));
        }
        assert_eq!(round(&releases, &[]), (vec![], Ok(())));
    }

    #[test]
    fn the_number_of_failed_releases_is_limited() {
        let releases = Releases::default();
        let mut noted = 0;
        while releases.has_room() {
            assert_eq!(releases.note(key(noted), Err(FAILED)), Err(FAILED));
            noted += 1;
        }
        assert_eq!(noted, 1024);
        assert_eq!(round(&releases, &[]).0.len(), 1024);
        assert!(releases.has_room());
    }
}
