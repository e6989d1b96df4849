//! Check of a share: whether inodes, directories, regions and bitmaps agree with one another. It finds what the
//! checksums of blocks do not. Its steps are transactions that change nothing; memory is some bytes for each file.

mod directories;
mod inodes;
mod path;
mod problem;
mod space;

pub use problem::{Finding, Problem};

use crate::engine::Engine;
use crate::file_system::Files;
use crate::halt::{Halt, Step};
use crate::layout::address::{ORPHANS, ROOT, Region};
use crate::layout::super_block::SuperBlock;
use crate::share::Share;
use std::collections::BTreeMap;
use vfs::{FileId, FsError, Kind};

/// Findings that a report has at most.
const MOST_FINDINGS: usize = 1000;

/// Facts of a file that the check compares with other structures later.
#[derive(Clone, Copy, Debug)]
struct Known {
    kind: Kind,
    /// Links that the inode counts.
    links: u32,
    /// Entries that lead to it.
    names: u32,
    /// Sub-directories of a directory.
    directories: u32,
    /// Directory of the name, as the inode says.
    parent: FileId,
}

/// A check in progress.
struct Check<'f, E> {
    files: &'f Files<E>,
    super_block: SuperBlock,
    known: BTreeMap<FileId, Known>,
    /// Regions in use, with their files.
    regions: Vec<(Region, FileId)>,
    findings: Vec<(FileId, Problem)>,
}

impl<E: Engine> Files<E> {
    /// Checks the share. Nothing may change it meanwhile: of a share in use, check a snapshot.
    ///
    /// Errors are those of the engine. Damage is a finding. At most 1 000 findings are reported.
    pub async fn check(&self) -> Result<Vec<Finding>, FsError> {
        let Found::Fine(super_block) =
            self.look(|share| found(share.stored_super_block().map(Option::unwrap_or_default))).await?
        else {
            return Ok(vec![Finding { path: "/".to_owned(), problem: Problem::SuperBlock }]);
        };
        let (known, regions, findings) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut check = Check { files: self, super_block, known, regions, findings };
        check.inodes().await?;
        check.directories().await?;
        check.links();
        check.space().await?;
        let mut named = Vec::new();
        for (file, problem) in std::mem::take(&mut check.findings) {
            named.push(Finding { path: self.path(file).await?, problem });
        }
        Ok(named)
    }
}

impl<E: Engine> Check<'_, E> {
    fn report(&mut self, file: FileId, problem: Problem) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push((file, problem));
        }
    }

    /// Looks, where damage is a finding.
    async fn look<T>(&self, mut look: impl FnMut(&mut Share<'_>) -> Step<T>) -> Result<Found<T>, FsError> {
        self.files.look(|share| found(look(share))).await
    }

    /// Compares the links that inodes count with those that there are.
    fn links(&mut self) {
        let known: Vec<(FileId, Known)> = self.known.iter().map(|(file, known)| (*file, *known)).collect();
        for (file, Known { kind, links, names, directories, .. }) in known {
            let is_start = file == ROOT || file == ORPHANS;
            if names == 0 && !is_start {
                self.report(file, Problem::Unreachable(kind));
                continue;
            }
            let found = if kind == Kind::Directory { 2 + directories } else { names };
            if found != links {
                self.report(file, Problem::Links { stored: links, found });
            }
            if kind == Kind::Directory && names != u32::from(!is_start) {
                self.report(file, Problem::Parent);
            }
        }
    }
}

/// Result of a look that met damage or not.
enum Found<T> {
    Fine(T),
    Damage,
}

/// Makes a finding of damage.
fn found<T>(result: Step<T>) -> Step<Found<T>> {
    match result {
        Ok(value) => Ok(Found::Fine(value)),
        Err(Halt::Refused(FsError::ReadFailed { .. } | FsError::Stale)) => Ok(Found::Damage),
        Err(halt) => Err(halt),
    }
}
