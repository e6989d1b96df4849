//! Two mounts that share no cache, as if they were two clients: locks, and files that the other changes
//! or removes.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const LOCKS: &str = include_str!("locks.sh");
const SHARED: &str = include_str!("shared.sh");
const ORPHANS: &str = include_str!("orphans.sh");
const STALE: &str = include_str!("stale.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    for version in Version::ALL {
        lab.run.require(&format!("mount_share {} s /mnt/other nosharecache", version.number()))?;
        match version {
            Version::V42 | Version::V41 => lab.work(version, &[LOCKS, SHARED, ORPHANS])?,
            // The documentation says `nolock`: locks are the client's own.
            Version::V3 => lab.work(version, &[SHARED, STALE])?,
        }
        lab.end_work()?;
        lab.run.require("umount /mnt/other")?;
    }
    Ok(())
}
