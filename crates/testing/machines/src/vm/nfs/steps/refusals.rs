//! Shares that refuse: one without changes, and one that is full.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const READ_ONLY: &str = include_str!("read_only.sh");
const FULL: &str = include_str!("full.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    for version in [Version::V42, Version::V3] {
        for (share, script) in [("read-only", READ_ONLY), ("small", FULL)] {
            lab.run.require(&format!("mount_share {} {share} /mnt/t", version.number()))?;
            lab.work(version, &[script])?;
            lab.run.require("umount /mnt/t")?;
            lab.end_work()?;
        }
    }
    Ok(())
}
