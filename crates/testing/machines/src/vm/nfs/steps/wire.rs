//! Packets, as Wireshark's dissector sees them.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::Result;

const WIRE: &str = include_str!("wire.sh");

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    for version in Version::ALL {
        let number = version.number();
        lab.checks(&format!("{number}: "), "/", &WIRE.replace("$VERSION", number))?;
    }
    Ok(())
}
