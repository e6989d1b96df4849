//! Attributes space_used (45, RFC 8881 §5.8.2.35) and space_freed (78, RFC 7862 §12.2.2): what a file
//! takes, and what its deletion would free. Both must follow writes, clones and deletions.

use super::fault::{Fault, wrong};
use super::primitive::Proof;
use super::scratch::{KIB, Scratch, data};
use crate::verdict::timed;
use nfs::v4::Status;
use nfs_client::{ClientError, File};

/// Largest part of a file that its map may take, and that blocks may round up.
const SLACK: u64 = 64 * KIB;

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let share = &scratch.share;
    let unit = scratch.clone_unit().await?.max(4 * KIB);
    let bytes = (256 * unit).clamp(1024 * KIB, 4096 * KIB);
    let name = scratch.fresh("statistics");
    let file = scratch.named_file(&name).await?;
    expect(scratch, &file, "an empty file", 0, 0).await?;
    scratch.write(&file, 0, data(13, bytes)).await?;
    expect(scratch, &file, "a written file", bytes, bytes).await?;
    share.deallocate(&file, 0, bytes / 2).await?;
    expect(scratch, &file, "a file of which half was freed", bytes / 2, bytes / 2).await?;
    scratch.write(&file, 0, data(14, bytes / 2)).await?;
    let clone = scratch.file("statistics").await?;
    let shared = match share.clone_range((&file, 0), (&clone, 0), 0).await {
        Ok(()) => true,
        Err(ClientError::Status { status: Status::NOTSUPP | Status::OP_ILLEGAL, .. }) => false,
        Err(error) => return Err(error.into()),
    };
    if shared {
        expect(scratch, &clone, "a clone", bytes, 0).await?;
        expect(scratch, &file, "the source of a clone", bytes, 0).await?;
        scratch.write(&clone, bytes / 2, data(15, bytes / 4)).await?;
        expect(scratch, &clone, "a clone of which a quarter was written", bytes, bytes / 4).await?;
        expect(scratch, &file, "a source of whose clone a quarter was written", bytes, bytes / 4).await?;
        scratch.delete(file, &name).await?;
        expect(scratch, &clone, "a clone whose source was deleted", bytes, bytes).await?;
    }
    let cost = timed(|| scratch.wire_bytes(), async |_| scratch.used_and_freed(&clone).await.map(drop)).await?;
    let proved = if shared { "writes, clones and deletions" } else { "writes; there is no CLONE to share blocks" };
    Ok(Proof { reason: format!("space_used and space_freed follow {proved}"), cost: Some(cost) })
}

/// Fails unless the file takes `used` bytes and its deletion would free `freed`, each with room for the
/// map of the file.
async fn expect(scratch: &Scratch, file: &File, what: &str, used: u64, freed: u64) -> Result<(), Fault> {
    let (found_used, found_freed) = match scratch.used_and_freed(file).await? {
        [Some(used), Some(freed)] => (used, freed),
        [None, _] => return wrong("the server lacks space_used (attribute 45)"),
        [_, None] => return wrong("the server lacks space_freed (attribute 78)"),
    };
    let near = |found: u64, wanted: u64| found >= wanted && found <= wanted + SLACK;
    match () {
        () if !near(found_used, used) => {
            wrong(format!("{what} takes {found_used} bytes, expected {used} (space_used)"))
        }
        () if !near(found_freed, freed) => {
            wrong(format!("the deletion of {what} would free {found_freed} bytes, expected {freed} (space_freed)"))
        }
        () => Ok(()),
    }
}
