//! Mounts with each version, by the commands of the documentation, and mounts that are refused.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const MOUNTS: &str = include_str!("mounts.sh");
const OTHERS: &str = include_str!("other_mounts.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    for version in Version::ALL {
        let number = version.number();
        lab.checks(&format!("{number}: "), "/", &MOUNTS.replace("$VERSION", number))?;
    }
    lab.checks("", "/", OTHERS)
}
