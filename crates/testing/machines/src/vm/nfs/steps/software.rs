//! Programs that people use: git, sqlite3, tar, rsync and others.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const SOFTWARE: &str = include_str!("software.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    for version in [Version::V42, Version::V3] {
        lab.work(version, &[SOFTWARE])?;
        lab.end_work()?;
    }
    Ok(())
}
