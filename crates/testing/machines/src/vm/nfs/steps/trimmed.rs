//! `fstrim` in a file system inside a file of the share: the blocks of a removed file return to the pool.

use crate::vm::nfs::lab::{Lab, Version};
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

/// Bytes of the removed file.
const REMOVED_BYTES: u64 = 32 << 20;
/// Bytes of it that may stay mapped: blocks that the ends of trimmed ranges share with others.
const LEFT_BYTES: u64 = 1 << 20;
/// Time limit until the pool has its blocks back.
const LIMIT: Duration = Duration::from_secs(60);

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    if !lab.has_array() {
        return Ok(());
    }
    lab.work(Version::V42, &[])?;
    lab.run.require(&format!(
        "set -e; cd /mnt/s/work
        truncate -s 128M image; mkfs.ext4 -q -F image; mount -o loop image /mnt/loop
        head -c {REMOVED_BYTES} /dev/urandom >/mnt/loop/removed; head -c 1M /dev/urandom >/tmp/kept; cp /tmp/kept /mnt/loop/kept; sync"
    ))?;
    let full = lab.array()?.pool_number("used_bytes")?;
    lab.run.require("set -e; rm /mnt/loop/removed; sync; fstrim -v /mnt/loop; sync")?;
    let words = returned(lab, full);
    lab.run.record("fstrim gives the pool the blocks of a removed file back", words);
    let kept = "set -e; cmp /tmp/kept /mnt/loop/kept; umount /mnt/loop; drop; e2fsck -fn /mnt/s/work/image";
    lab.run.check("the file system in the file is clean", kept, 0, &[])?;
    lab.end_work()
}

/// Waits until the pool uses less than `full` by what was removed.
fn returned(lab: &mut Lab, full: u64) -> Result<String> {
    let started = Instant::now();
    loop {
        let returned = full.saturating_sub(lab.array()?.pool_number("used_bytes")?);
        if returned >= REMOVED_BYTES - LEFT_BYTES {
            return Ok(format!(
                "{} after {}",
                text::size::format(returned),
                text::duration::measured(started.elapsed())
            ));
        }
        ensure!(started.elapsed() < LIMIT, "only {returned} bytes of {REMOVED_BYTES} returned");
        std::thread::sleep(Duration::from_millis(500));
    }
}
