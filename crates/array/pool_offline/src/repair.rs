//! `windlass pool repair FILE`: rebuilds a space map and counters that contradict the trees, and
//! lost superblock copies.
//!
//! The repair runs in memory first. Only if the result is a clean pool, and the user agrees, it
//! runs on the file.

use std::fmt::{Display, Formatter};
use std::path::Path;

use control::ObjectNames;
use media::{Disk, LocalMedia, Media, OpenOptions, Overlay, Span};
use pool::{Core, Options, RepairError, RepairReport};
use serde::Serialize;
use uuid::Uuid;

use crate::check::{CheckOptions, CheckStage, check};
use crate::error::CheckError;
use crate::names::{explain, names, names_in};
use crate::outcome::counted;

/// Bytes of memory for reference counts during a repair.
const MEMORY_BYTES: usize = 1 << 30;

/// Result of a repair, done or planned. Serializes to the JSON of `windlass pool repair -o json`,
/// whose fields are only ever added to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepairOutcome {
    /// Path of the file or device, as given.
    pub file: String,
    /// Identity of the pool.
    pub uuid: Uuid,
    /// True if the pool needs a repair.
    pub needed: bool,
    /// True if it was repaired; otherwise the file is unchanged.
    pub repaired: bool,
    /// Number of changes.
    pub change_count: u64,
    /// Repaired damage, a sentence each: superblock copies, then the first hundred others.
    pub changes: Vec<String>,
    /// Number of map pages that the counts were derived from.
    pub map_pages: u64,
    /// Number of unreadable data blocks, which no repair restores. Counted only if the pool needs
    /// no repair.
    pub unreadable_blocks: u64,
    /// Findings of a check afterwards; for a dry run, the expected ones.
    pub findings_after: Vec<String>,
}

impl Display for RepairOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if !self.needed && self.unreadable_blocks > 0 {
            let blocks = counted(self.unreadable_blocks, "data block");
            writeln!(
                f,
                "{}: the metadata needs no repair, and {blocks} cannot be read; the file was not changed",
                self.file
            )?;
        } else if !self.needed {
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
        match (self.needed, self.repaired) {
            (false, _) => writeln!(f, "findings:")?,
            (true, false) => writeln!(f, "left after a repair:")?,
            (true, true) => writeln!(f, "left after the repair:")?,
        }
        self.findings_after.iter().try_for_each(|finding| writeln!(f, "  {finding}"))
    }
}

/// Plans the repair of the pool in `path`. The file is opened read-only.
pub fn plan_repair(path: &Path, progress: &mut dyn FnMut(CheckStage)) -> Result<RepairOutcome, CheckError> {
    let open = OpenOptions { read_only: true, ..OpenOptions::default() };
    let name = path.display().to_string();
    let media = LocalMedia::open(Span::open(path, &open)?)
        .map_err(|reason| CheckError::NoPool { path: name.clone(), reason })?;
    let (uuid, copies) = identify(&media);
    let (mut core, report) = rebuild(Overlay::new(media), path, progress)?;
    let interrupted = |reason| CheckError::Interrupted { path: name.clone(), reason };
    core.checkpoint().map_err(interrupted)?;
    let mut verify = |data| {
        let options = pool::CheckOptions { data, memory_bytes: MEMORY_BYTES };
        let told = &mut |state: pool::CheckProgress| {
            progress(CheckStage::Verifying { verified_blocks: state.verified, total_blocks: state.total });
        };
        core.check_with(options, told).map_err(interrupted)
    };
    let mut after = verify(false)?;
    let mut unreadable_blocks = 0;
    if copies.is_empty() && report.count == 0 {
        // A user who asks for a repair has seen damage: if the metadata is good, it is in the data.
        let with_data = verify(true)?;
        unreadable_blocks = with_data.count.saturating_sub(after.count);
        after = with_data;
    }
    let names = names(&core);
    let found = Found { uuid, copies, report, unreadable_blocks, after: explain(&names, after.findings) };
    Ok(outcome(name.clone(), &names, found, false))
}

/// Repairs the pool in `path`. Call it if [`plan_repair`] found damage and the user agrees. After a
/// crash the pool is either unchanged or repaired.
pub fn repair(path: &Path, progress: &mut dyn FnMut(CheckStage)) -> Result<RepairOutcome, CheckError> {
    let name = path.display().to_string();
    let media = LocalMedia::open(Span::open(path, &OpenOptions::default())?)
        .map_err(|reason| CheckError::NoPool { path: name.clone(), reason })?;
    let (uuid, copies) = identify(&media);
    let (mut core, report) = rebuild(media, path, progress)?;
    core.checkpoint().map_err(|reason| CheckError::Interrupted { path: name.clone(), reason })?;
    let names = names(&core);
    drop(core);
    let after = check(path, CheckOptions { data: false, ..CheckOptions::default() }, progress)?.findings;
    Ok(outcome(name, &names, Found { uuid, copies, report, unreadable_blocks: 0, after }, true))
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
    path: &Path,
    progress: &mut dyn FnMut(CheckStage),
) -> Result<(Core<M>, RepairReport), CheckError> {
    let options = Options { incarnation: Uuid::new_v4().as_u64_pair().0, ..Options::default() };
    let told = &mut |log_bytes| progress(CheckStage::Replaying { log_bytes });
    let name = path.display().to_string();
    let (core, _, report) = Core::open_repairing(media, options, MEMORY_BYTES, told).map_err(|error| match error {
        RepairError::Pool(reason) => CheckError::Unrecoverable { path: name, reason },
        RepairError::Unprovable { damage, count } => {
            CheckError::Unprovable { path: name, damage: explain(&names_in(path), damage), count }
        }
    })?;
    Ok((core, report))
}

/// Parts of a [`RepairOutcome`].
struct Found {
    uuid: Uuid,
    copies: Vec<String>,
    report: RepairReport,
    unreadable_blocks: u64,
    /// Findings of the check afterwards, with names instead of object numbers.
    after: Vec<String>,
}

fn outcome(file: String, names: &ObjectNames, found: Found, repaired: bool) -> RepairOutcome {
    let Found { uuid, copies, report, unreadable_blocks, after } = found;
    let change_count = u64::try_from(copies.len()).unwrap_or(u64::MAX).saturating_add(report.count);
    RepairOutcome {
        file,
        uuid,
        needed: change_count > 0,
        repaired,
        change_count,
        changes: copies.into_iter().chain(explain(names, report.changes)).collect(),
        map_pages: report.pages,
        unreadable_blocks,
        findings_after: after,
    }
}
