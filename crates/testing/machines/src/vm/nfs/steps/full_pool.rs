//! A pool that fills up under a share: what fails changes nothing, what was allocated is written, and writes
//! continue as soon as there is room again, without a new mount.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const FULL: &str = include_str!("full_pool.sh");
const PROMISED: &str = include_str!("promised.sh");
const TRYING: &str = include_str!("trying.sh");
const ROOM: &str = include_str!("room_again.sh");
const PLACE: &str = "/mnt/t/full";

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    if !lab.has_array() {
        return Ok(());
    }
    for version in [Version::V42, Version::V3] {
        let number = version.number();
        let prefix = format!("{number}: ");
        let files = format!(
            "set -e; mount_share {number} small /mnt/t; mkdir {PLACE}; cd {PLACE}
            head -c 4M /dev/urandom >/tmp/kept; cp /tmp/kept kept; cp /tmp/kept overwritten
            [ {number} = 3 ] || fallocate -l 2M allocated
            sync"
        );
        lab.run.require(&files)?;
        lab.server.limit_room(true)?;
        lab.checks(&prefix, PLACE, FULL)?;
        if version == Version::V42 {
            lab.checks(&prefix, PLACE, PROMISED)?;
        }
        lab.checks(&prefix, PLACE, TRYING)?;
        lab.server.limit_room(false)?;
        lab.checks(&prefix, PLACE, ROOM)?;
        lab.run.require(&format!("rm -r {PLACE} && umount /mnt/t"))?;
    }
    Ok(())
}
