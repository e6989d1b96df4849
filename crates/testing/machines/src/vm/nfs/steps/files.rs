//! Operations on files and directories, with each version.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const FILES: &str = include_str!("files.sh");
const EXTENDED: &str = include_str!("extended.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    for version in Version::ALL {
        let scripts: &[&str] = if version == Version::V42 { &[FILES, EXTENDED] } else { &[FILES] };
        lab.work(version, scripts)?;
        lab.end_work()?;
    }
    Ok(())
}
