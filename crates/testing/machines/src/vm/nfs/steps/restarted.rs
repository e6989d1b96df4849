//! The array starts again under open files and locks, after a clean stop and after a kill. Their client
//! reclaims them, and another client, which asks first, gets none of them.

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
            lab.run.require(&format!("mount_as_other_client {} s /mnt/other", version.number()))?;
            lab.work(version, &[&RESTARTED.replace("$END", end.title())])?;
            lab.remove_work()?;
            lab.run.require("umount /mnt/other")?;
        }
    }
    Ok(())
}
