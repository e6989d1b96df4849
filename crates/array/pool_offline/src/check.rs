//! Check of a closed pool: superblock copies, recovery in memory, then a walk over all reachable
//! blocks.

use std::path::Path;

use media::{Disk, LocalMedia, OpenOptions, Overlay, SegmentStore, Span};
use pool::{Core, ObjectKind, Options};
use uuid::Uuid;

use crate::error::CheckError;
use crate::names::{explain, names};
use crate::outcome::CheckOutcome;

/// Options of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Also read every data block and verify its checksum. Without it, the check verifies
    /// superblocks, log, map, counts and catalog.
    pub data: bool,
    /// Memory for reference counts: 4 KiB for each 8 MiB of the pool that is in use. With less, the
    /// check walks the map several times.
    pub memory_bytes: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { data: true, memory_bytes: 1 << 30 }
    }
}

/// Progress of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStage {
    /// Replay of the log in memory.
    Replaying {
        /// Bytes of the log replayed so far.
        log_bytes: u64,
    },
    /// Verification of pages and blocks.
    Verifying {
        /// 4 KiB blocks verified so far, map pages included.
        verified_blocks: u64,
        /// 4 KiB blocks in use, according to the pool's own counter.
        total_blocks: u64,
    },
}

/// Checks the pool in the file or block device `path`, which is opened read-only and locked
/// meanwhile. Blocks the thread, and calls `progress` often.
///
/// Damage in a pool that opens is in [`CheckOutcome::findings`]. An error means that there is no
/// pool, that it is in use, or that it is too damaged to open.
pub fn check(
    path: &Path,
    options: CheckOptions,
    progress: &mut dyn FnMut(CheckStage),
) -> Result<CheckOutcome, CheckError> {
    // Reads bypass the page cache, because the check must see the content of the medium.
    let open = OpenOptions { read_only: true, ..OpenOptions::default() };
    check_disk(Span::open(path, &open)?, &path.display().to_string(), options, progress)
}

/// Checks the pool on `disk`; messages call it `name`.
pub(crate) fn check_disk<D: Disk>(
    disk: D,
    name: &str,
    options: CheckOptions,
    progress: &mut dyn FnMut(CheckStage),
) -> Result<CheckOutcome, CheckError> {
    let media = LocalMedia::open(disk).map_err(|reason| CheckError::NoPool { path: name.to_owned(), reason })?;
    let uuid = Uuid::from_bytes(media.uuid());
    let damaged = media
        .damaged_copies()
        .iter()
        .map(|copy| format!("superblock copy {} (block {}) is unusable: {}", copy.index, copy.block, copy.reason));
    let mut findings: Vec<String> = damaged.collect();
    let size_blocks = media.block_count();

    // Recovery may take checkpoints; their log frames name the run that wrote them.
    let core_options = Options { incarnation: Uuid::new_v4().as_u64_pair().0, ..Options::default() };
    let (mut core, opened) =
        Core::open(Overlay::new(media), core_options, &mut |log_bytes| progress(CheckStage::Replaying { log_bytes }))
            .map_err(|reason| CheckError::Unrecoverable { path: name.to_owned(), reason })?;

    let report = core
        .check_with(pool::CheckOptions { data: options.data, memory_bytes: options.memory_bytes }, &mut |state| {
            progress(CheckStage::Verifying { verified_blocks: state.verified, total_blocks: state.total });
        })
        .map_err(|reason| CheckError::Interrupted { path: name.to_owned(), reason })?;

    // A closed pool has no users of captures, which are therefore not counted.
    let count = |kind: ObjectKind| {
        core.object_ids().into_iter().filter(|id| core.object(*id).is_some_and(|object| object.kind == kind)).count()
    };
    let (volumes, snapshots) = (count(ObjectKind::Volume), count(ObjectKind::Snapshot));
    let space = core.space();
    let finding_count = u64::try_from(findings.len()).unwrap_or(u64::MAX).saturating_add(report.count);
    findings.extend(explain(&names(&core), report.findings));
    Ok(CheckOutcome {
        file: name.to_owned(),
        uuid,
        clean: finding_count == 0,
        size_bytes: size_blocks.saturating_mul(media::BLOCK_BYTES as u64),
        used_bytes: space.used_bytes,
        free_bytes: space.free_bytes,
        metadata_bytes: space.metadata_bytes,
        volumes,
        snapshots,
        documents: core.documents().len(),
        map_pages: report.pages,
        data_blocks: report.blocks,
        data_verified: options.data,
        replayed_records: opened.records,
        replayed_bytes: opened.log_bytes,
        finding_count,
        findings,
    })
}
