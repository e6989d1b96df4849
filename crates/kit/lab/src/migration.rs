//! Moves a disk to another datastore while its guest runs, with changed blocks tracked: clones
//! everything, copies the chunks written meanwhile until few are left, and copies these while the
//! guest waits.

use crate::bench::Bench;
use crate::error::LabError;
use crate::guest::{DIRTY_BYTES, Guest};
use crate::host::{Disk, Store, sole};
use datastore::DiskFormat;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// Number of chunks that may be left for the pause.
const FEW: usize = 16;
/// Largest number of passes over written chunks: a guest that writes faster than they are copied
/// has to wait longer.
const MAX_PASSES: u32 = 8;
const DEPTH: usize = 8;

/// Result of a migration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Migration {
    /// Time for which the guest waited.
    pub(crate) pause: Duration,
    /// Bytes written during the move that the host copied again.
    pub(crate) again_bytes: u64,
}

/// Moves the guest's disk, and deletes the old one. The guest continues with the new one.
pub(crate) async fn migrate(
    bench: &Bench,
    guest: &Guest,
    (from, from_name): (&Rc<Store>, &str),
    (to, to_name): (&Rc<Store>, &str),
    format: DiskFormat,
) -> Result<Migration, LabError> {
    let source = guest.disk()?;
    guest.track();
    let progress = bench.progress(source.size());
    to.clone_disk(&source, to_name, format, &progress).await?;
    let mut migration = Migration::default();
    let destination = to.open(to_name).await?;
    for _ in 0..MAX_PASSES {
        let dirty = guest.take_dirty(false);
        migration.again_bytes += copy(&source, &destination, &dirty).await?;
        if dirty.len() <= FEW {
            break;
        }
    }
    let begun = bench.clock.now();
    guest.pause().await;
    let rest = guest.take_dirty(true);
    migration.again_bytes += copy(&source, &destination, &rest).await?;
    let old = guest.replace_disk(Some(destination));
    guest.resume();
    migration.pause = bench.clock.now().saturating_sub(begun);
    drop(source);
    if let Some(old) = old {
        sole(old)?.close().await?;
    }
    from.delete(from_name).await?;
    Ok(migration)
}

/// Copies chunks from one disk to the other; returns the bytes.
async fn copy(from: &Disk, to: &Disk, chunks: &BTreeSet<u64>) -> Result<u64, LabError> {
    let work = stream::iter(chunks.iter().copied()).map(Ok::<_, LabError>);
    work.try_for_each_concurrent(DEPTH, |chunk| async move {
        let offset = chunk * DIRTY_BYTES;
        let data = from.read(offset, DIRTY_BYTES.min(from.size() - offset)).await?;
        to.write(offset, data).await?;
        Ok(())
    })
    .await?;
    Ok(chunks.len() as u64 * DIRTY_BYTES)
}
