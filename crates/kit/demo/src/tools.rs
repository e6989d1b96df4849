//! Third-party programs of the demo, located before anything starts.

use anyhow::{Context, Result, bail, ensure};
use array_process::program;
use std::path::PathBuf;
use std::time::Duration;

/// Paths of the programs.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    /// Copies and compares disks; an iSCSI initiator.
    pub(crate) qemu_img: PathBuf,
    /// Single reads, writes, zeroing and discards; an iSCSI initiator.
    pub(crate) qemu_io: PathBuf,
    /// Creates a file system.
    pub(crate) mkfs_ext4: PathBuf,
    /// Checks a file system.
    pub(crate) e2fsck: PathBuf,
}

impl Tools {
    /// Finds the programs, or names the Debian packages of the missing ones.
    pub(crate) fn find() -> Result<Self> {
        let wanted = [
            ("qemu-img", "qemu-utils"),
            ("qemu-io", "qemu-utils"),
            ("mkfs.ext4", "e2fsprogs"),
            ("e2fsck", "e2fsprogs"),
        ];
        let mut packages: Vec<_> =
            wanted.iter().filter(|(name, _)| program::find(name).is_none()).map(|(_, package)| *package).collect();
        packages.dedup();
        if !packages.is_empty() {
            bail!(
                "the demo uses programs that are not installed; on Debian and Ubuntu: apt-get install {} qemu-block-extra",
                packages.join(" ")
            );
        }
        let path = |name: &str| program::find(name).with_context(|| format!("{name} has just disappeared"));
        let tools = Self {
            qemu_img: path("qemu-img")?,
            qemu_io: path("qemu-io")?,
            mkfs_ext4: path("mkfs.ext4")?,
            e2fsck: path("e2fsck")?,
        };
        tools.check_iscsi()?;
        Ok(tools)
    }

    /// Checks that QEMU's iSCSI driver, a separate module, is installed. Nothing listens on port 1,
    /// so with the driver the error is a refused connection.
    fn check_iscsi(&self) -> Result<()> {
        let arguments = ["info", "--force-share", "iscsi://127.0.0.1:1/iqn.2026-01.org.example:none/0"];
        let finished = program::run(&self.qemu_img, &arguments, Duration::from_secs(30))?;
        ensure!(
            !finished.stderr.contains("Unknown protocol"),
            "qemu-img has no iSCSI driver; on Debian and Ubuntu: apt-get install qemu-block-extra"
        );
        Ok(())
    }
}
