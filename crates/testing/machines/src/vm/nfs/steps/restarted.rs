//! The array starts again under open files and locks, after a clean stop and after a kill. The client
//! reclaims them, and another owner of locks gets none of them meanwhile.

use crate::vm::nfs::lab::{Lab, Version};
use crate::vm::nfs::script::End;
use anyhow::Result;

const RESTARTED: &str = include_str!("restarted.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    if !lab.has_array() {
        return Ok(());
    }
    for version in [Version::V42, Version::V41] {
        for end in End::ALL {
            lab.run.require(&format!("mount_share {} s /mnt/other nosharecache", version.number()))?;
            lab.work(version, &[&RESTARTED.replace("$END", end.title())])?;
            lab.remove_work()?;
            lab.run.require("umount /mnt/other")?;
        }
    }
    Ok(())
}
