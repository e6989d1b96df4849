//! `windlass pool repair FILE`: a space map and counters that contradict the trees, and superblock copies that are lost, made anew.
//!
//! The repair is always done in memory first; only when that leaves a clean pool, and the user agrees, it is done on the file.

use std::fmt::{Display, Formatter};
use std::path::Path;

use media::{Disk, LocalMedia, Media, OpenOptions, Overlay, Span};
use pool::{Core, Options, RepairError, RepairReport};
use serde::Serialize;
use uuid::Uuid;

use crate::check::{CheckOptions, CheckStage, check};
use crate::error::CheckError;
use crate::outcome::counted;

/// Memory for reference counts while a pool is repaired.
const MEMORY_BYTES: usize = 1 << 30;

/// What a repair did, or would do. Serializes to the JSON of `windlass pool repair -o json`; fields are only ever added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepairOutcome {
    /// Path of the file or device, as given.
    pub file: String,
    /// Identity of the pool.
    pub uuid: Uuid,
    /// Something is to be repaired.
    pub needed: bool,
    /// It was; otherwise the file is as it was.
    pub repaired: bool,
    /// Number of changes.
    pub change_count: u64,
    /// What was wrong, a sentence each: superblock copies, then the first hundred others.
    pub changes: Vec<String>,
    /// Map pages that the counts were made from.
    pub map_pages: u64,
    /// What a check finds afterwards; in a dry run, what it would find.
    pub findings_after: Vec<String>,
}

impl Display for RepairOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if !self.needed {
            writeln!(f, "{}: nothing to repair; the file was not changed", self.file)?;
        } else {
            let count = counted(self.change_count, "defect");
            match self.repaired {
                true => writeln!(f, "{}: repaired, {count}", self.file)?,
                false => writeln!(f, "{}: {count} can be repaired; the file was not changed", self.file)?,
            }
        }
        for change in &self.changes {
            writeln!(f, "  {change}")?;
        }
        let listed = u64::try_from(self.changes.len()).unwrap_or(u64::MAX);
        if self.change_count > listed {
            writeln!(f, "  and {} more", self.change_count - listed)?;
        }
        if self.findings_after.is_empty() {
            return Ok(());
        }
        writeln!(f, "left after {}:", if self.repaired { "the repair" } else { "a repair" })?;
        self.findings_after.iter().try_for_each(|finding| writeln!(f, "  {finding}"))
    }
}

/// Finds what a repair of the pool in `path` would change. The file is opened for reading only.
pub fn plan_repair(path: &Path, progress: &mut dyn FnMut(CheckStage)) -> Result<RepairOutcome, CheckError> {
    let open = OpenOptions { read_only: true, ..OpenOptions::default() };
    let name = path.display().to_string();
    let media = LocalMedia::open(Span::open(path, &open)?)
        .map_err(|reason| CheckError::NoPool { path: name.clone(), reason })?;
    let (uuid, copies) = identify(&media);
    let (mut core, report) = rebuild(Overlay::new(media), &name, progress)?;
    let interrupted = |reason| CheckError::Interrupted { path: name.clone(), reason };
    core.checkpoint().map_err(interrupted)?;
    let after = core
        .check_with(pool::CheckOptions { data: false, memory_bytes: MEMORY_BYTES }, &mut |state| {
            progress(CheckStage::Verifying { verified_blocks: state.verified, total_blocks: state.total });
        })
        .map_err(interrupted)?;
    Ok(outcome(name.clone(), uuid, copies, report, false, after.findings))
}

/// Repairs the pool in `path`. To be called when [`plan_repair`] found something and the user agrees. A crash on the way leaves the pool as it was, or
/// repaired.
pub fn repair(path: &Path, progress: &mut dyn FnMut(CheckStage)) -> Result<RepairOutcome, CheckError> {
    let name = path.display().to_string();
    let media = LocalMedia::open(Span::open(path, &OpenOptions::default())?)
        .map_err(|reason| CheckError::NoPool { path: name.clone(), reason })?;
    let (uuid, copies) = identify(&media);
    let (mut core, report) = rebuild(media, &name, progress)?;
    core.checkpoint().map_err(|reason| CheckError::Interrupted { path: name.clone(), reason })?;
    drop(core);
    let after = check(path, CheckOptions { data: false, ..CheckOptions::default() }, progress)?;
    Ok(outcome(name, uuid, copies, report, true, after.findings))
}

fn identify<D: Disk>(media: &LocalMedia<D>) -> (Uuid, Vec<String>) {
    let copies = media.damaged_copies().iter();
    let sentence = |copy: &media::DamagedCopy| {
        format!("superblock copy {} (block {}) is unusable: {}", copy.index, copy.block, copy.reason)
    };
    (Uuid::from_bytes(media.uuid()), copies.map(sentence).collect())
}

fn rebuild<M: Media>(
    media: M,
    name: &str,
    progress: &mut dyn FnMut(CheckStage),
) -> Result<(Core<M>, RepairReport), CheckError> {
    let options = Options { incarnation: Uuid::new_v4().as_u64_pair().0, ..Options::default() };
    let told = &mut |log_bytes| progress(CheckStage::Replaying { log_bytes });
    let (core, _, report) = Core::open_repairing(media, options, MEMORY_BYTES, told).map_err(|error| match error {
        RepairError::Pool(reason) => CheckError::Unrecoverable { path: name.to_owned(), reason },
        RepairError::Unprovable { damage, count } => CheckError::Unprovable { path: name.to_owned(), damage, count },
    })?;
    Ok((core, report))
}

fn outcome(
    file: String,
    uuid: Uuid,
    copies: Vec<String>,
    report: RepairReport,
    repaired: bool,
    findings_after: Vec<String>,
) -> RepairOutcome {
    let change_count = u64::try_from(copies.len()).unwrap_or(u64::MAX).saturating_add(report.count);
    let changes = copies.into_iter().chain(report.changes).collect();
    let needed = change_count > 0;
    RepairOutcome { file, uuid, needed, repaired, change_count, changes, map_pages: report.pages, findings_after }
}
