//! Snapshots of a share under its mount, a clone of one, and roll-back, under which the mount stays.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const SNAPSHOTS: &str = include_str!("snapshots.sh");
const LOST: &str = include_str!("lost.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    if !lab.has_array() {
        return Ok(());
    }
    for version in [Version::V42, Version::V3] {
        // With NFSv4 the opens are revoked, and one whose file is gone cannot be had again.
        let lost = if version == Version::V3 { "ESTALE" } else { "EBADF" };
        let script = SNAPSHOTS.replace("$VERSION", version.number()).replace("$LOST", lost);
        let scripts: &[&str] = if version == Version::V3 { &[&script] } else { &[&script, LOST] };
        lab.work(version, scripts)?;
        lab.remove_work()?;
        let array = lab.array()?;
        array.command(&["access", "revoke", "restored", "--any", "--yes"])?;
        array.command(&["share", "delete", "restored", "--yes"])?;
        array.command(&["snapshot", "delete", "s", "before", "--yes"])?;
        array.command(&["snapshot", "delete", "s", "changed", "--yes"])?;
    }
    Ok(())
}
