//! Rules of access that the administrator changes while a host has the share mounted.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const EXPORTS: &str = include_str!("exports.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    if !lab.has_array() {
        return Ok(());
    }
    for version in [Version::V42, Version::V3] {
        let number = version.number();
        lab.checks(&format!("{number}: "), "/", &EXPORTS.replace("$VERSION", number))?;
    }
    Ok(())
}
