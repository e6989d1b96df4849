//! Work that the server does with NFSv4.2: clones, copies, allocation, holes. The client's counts show
//! that it asked the server, and did not fall back to reads and writes.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const COPIES: &str = include_str!("copies.sh");
const CLONES: &str = include_str!("clones.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    lab.run.require("mount_share 4.2 s /mnt/other nosharecache")?;
    lab.work(Version::V42, &[COPIES, CLONES])?;
    lab.end_work()?;
    lab.run.require("umount /mnt/other").map(drop)
}
