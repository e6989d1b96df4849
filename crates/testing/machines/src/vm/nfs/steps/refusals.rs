//! Shares that refuse: one without changes, and one that is full.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const READ_ONLY: &str = include_str!("read_only.sh");
const FULL: &str = include_str!("full.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    let source = lab.server.source_of_read_only();
    lab.run.require(&format!(
        "set -e; mount_share 4.2 {source} /mnt/s; mkdir -m 777 /mnt/s/kept; echo words >/mnt/s/kept/file; umount /mnt/s"
    ))?;
    lab.server.refuse_changes()?;
    for version in [Version::V42, Version::V3] {
        // With NFSv3 the client asks ACCESS before it opens a file.
        let refused = if version == Version::V3 { "Permission denied" } else { "Read-only file system" };
        on(lab, version, "read-only", &READ_ONLY.replace("$REFUSED", refused))?;
    }
    lab.server.limit_room(true)?;
    for version in [Version::V42, Version::V3] {
        on(lab, version, "small", FULL)?;
    }
    lab.server.limit_room(false)
}

fn on(lab: &mut Lab, version: Version, share: &str, script: &str) -> Result<()> {
    let number = version.number();
    lab.run.require(&format!("mount_share {number} {share} /mnt/t"))?;
    lab.checks(&format!("{number}: "), "/mnt/t", script)?;
    lab.run.require("umount /mnt/t").map(drop)
}
