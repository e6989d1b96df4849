//! File systems on a logical unit: fsx and fio on XFS and ext4, with fstrim and the pool's space;
//! blkdiscard with and without zeroing; growth while mounted; a snapshot of a mounted file system
//! under writes.

use super::fio;
use crate::vm::lab::{FILES, INITIATOR, Lab, SECOND};
use anyhow::{Context, Result, ensure};
use std::time::Duration;

/// Operations of fsx on each file system.
const OPERATIONS: u32 = 20_000;
/// Most space that the pool may use in addition after everything was freed: map pages and the log.
const SLACK_BYTES: u64 = 16 << 20;
const SPACE_LIMIT: Duration = Duration::from_secs(30);
const FIO_LIMIT: Duration = Duration::from_secs(240);
const MIB: u64 = 1 << 20;
/// Size of the file that fio writes.
const FILE_MIB: u64 = 32;

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    lab.login(&[0], &[])?;
    let disk = lab.disk(INITIATOR, 0, FILES)?;
    lab.require("mkdir -p /mnt/files /mnt/copy")?;
    for system in ["xfs", "ext4"] {
        exercise(lab, &disk, system).with_context(|| system.to_owned())?;
    }
    discard(lab)?;
    grow(lab, &disk)?;
    snapshot(lab, &disk)
}

fn exercise(lab: &mut Lab, disk: &str, system: &str) -> Result<()> {
    let force = if system == "xfs" { "-f" } else { "-F" };
    lab.require(&format!("mkfs.{system} -q {force} {disk} && mount {disk} /mnt/files && sync"))?;
    let before = lab.array.pool_number("used_bytes")?;
    let script = format!("/run/xtask fsx /mnt/files/fsx --operations {OPERATIONS} --size 262144");
    let output = lab.script(&script, FIO_LIMIT)?;
    let counts = output.text.lines().find(|line| line.contains("operations:")).unwrap_or_default().to_owned();
    let judged = crate::vm::lab::judged(&output, 0, &["1 passed, 0 failed"]);
    lab.record(&format!("{system}: {OPERATIONS} operations of fsx"), judged.map(|_| counts));

    let load = format!(
        "--filename=/mnt/files/fio --rw=randwrite --bs=16k --iodepth=8 --size={FILE_MIB}M --refill_buffers --fallocate=none"
    );
    let finished = fio::run(lab, "files", &load, FIO_LIMIT);
    lab.record(&format!("{system}: fio, {FILE_MIB} MiB at random"), finished.map(|finished| finished.to_string()));
    lab.require("sync")?;
    let full = lab.array.pool_number("used_bytes")?;
    // XFS frees the blocks of a removed file later, in the background.
    lab.require("rm /mnt/files/fio /mnt/files/fsx && sync && sleep 5 && sync && fstrim /mnt/files && sync")?;
    // Compared with the space before the files were removed, because the journal of the file system
    // has been filled meanwhile.
    let freed = lab.wait_for_space(full.saturating_sub(FILE_MIB * MIB), SPACE_LIMIT).and_then(|after| {
        let took = full.saturating_sub(before);
        ensure!(took > FILE_MIB * MIB, "the files took only {}", text::size::format(took));
        let size = |bytes: u64| text::size::format(bytes);
        Ok(format!("{} before, {} with the files, {} after", size(before), size(full), size(after)))
    });
    lab.record(&format!("{system}: fstrim gives the pool its space back"), freed);
    let check = if system == "xfs" { "xfs_repair -n" } else { "e2fsck -fn" };
    lab.check(
        &format!("{system}: {check} finds nothing"),
        &format!("umount /mnt/files && {check} {disk} 2>&1"),
        0,
        &[],
    )?;
    Ok(())
}

/// Tests blkdiscard of a whole logical unit, and zeroing.
fn discard(lab: &mut Lab) -> Result<()> {
    let disk = lab.disk(INITIATOR, 0, SECOND)?;
    lab.require(&format!("blkdiscard {disk}"))?;
    let before = lab.array.pool_number("used_bytes")?;
    let fill =
        format!("head -c 32M /dev/urandom >/run/data && dd if=/run/data of={disk} bs=1M oflag=direct status=none");
    let zeros = format!("blockdev --flushbufs {disk}; cmp -n $((32 << 20)) {disk} /dev/zero && echo zeros");
    for (title, command) in [("blkdiscard", "blkdiscard"), ("blkdiscard -z", "blkdiscard -z -l $((32 << 20))")] {
        lab.require(&fill)?;
        lab.check(
            &format!("{title}: everything reads as zeros"),
            &format!("{command} {disk} && {zeros}"),
            0,
            &["zeros"],
        )?;
        let space = lab.wait_for_space(before + SLACK_BYTES, SPACE_LIMIT);
        lab.record(
            &format!("{title}: the pool has its space back"),
            space.map(|used| format!("{} used", text::size::format(used))),
        );
    }
    Ok(())
}

/// Grows the volume under a mounted XFS.
fn grow(lab: &mut Lab, disk: &str) -> Result<()> {
    lab.require(&format!("mkfs.xfs -q -f {disk} && mount {disk} /mnt/files && cp /run/data /mnt/files/before"))?;
    lab.array.command(&["volume", "grow", "files", "--size", "1536M"])?;
    let name = disk.trim_start_matches("/dev/");
    let rescan = format!(
        "iscsiadm -m session -R >/dev/null; wait_until 30 grep -qx $((1536 << 11)) /sys/block/{name}/size && \
         xfs_growfs /mnt/files >/dev/null && df -m /mnt/files | tail -1 && cmp /run/data /mnt/files/before && echo grown"
    );
    let text = lab.check("the volume grows, and the mounted XFS with it", &rescan, 0, &["grown"])?;
    let size = text.split_whitespace().nth(1).and_then(|size| size.parse::<u64>().ok()).unwrap_or(0);
    let larger = if size > 1400 { Ok(format!("{size} MiB")) } else { Err(anyhow::anyhow!("df says {size} MiB")) };
    lab.record("df shows it", larger);
    Ok(())
}

/// Takes a snapshot during writes; its clone mounts, and is consistent.
fn snapshot(lab: &mut Lab, disk: &str) -> Result<()> {
    lab.require("cp /run/data /mnt/files/kept && sync")?;
    let load = "--filename=/mnt/files/busy --rw=randwrite --bs=4k --iodepth=4 --size=16M --rate_iops=200 --fsync=32";
    let busy = fio::start(lab, "busy", load, FIO_LIMIT)?;
    std::thread::sleep(Duration::from_secs(5));
    lab.array.command(&["snapshot", "create", "files", "mounted"])?;
    lab.array.command(&["volume", "clone", "files@mounted", "copy"])?;
    lab.array.command(&["access", "grant", "copy", "--any", "--lun", "9"])?;
    lab.require("iscsiadm -m session -R >/dev/null")?;
    let copy = lab.disk(INITIATOR, 0, 9)?;
    let mounted = format!(
        "mount -o nouuid {copy} /mnt/copy && cmp /run/data /mnt/copy/kept && ls -l /mnt/copy/busy && umount /mnt/copy && \
         xfs_repair -n {copy} 2>&1 && echo whole"
    );
    lab.check("a clone of a snapshot of the busy XFS mounts and is whole", &mounted, 0, &["whole"])?;
    let finished = busy.finish(lab);
    lab.record("the load on the original goes on", finished.map(|finished| finished.to_string()));
    lab.check("XFS: umount, xfs_repair -n", &format!("umount /mnt/files && xfs_repair -n {disk} 2>&1"), 0, &[])?;
    lab.require(&format!("echo 1 >/sys/block/{}/device/delete", copy.trim_start_matches("/dev/")))?;
    lab.array.command(&["access", "revoke", "copy", "--any", "--yes"])?;
    lab.array.command(&["volume", "delete", "copy", "--now", "--yes"])?;
    lab.array.command(&["snapshot", "delete", "files@mounted", "--yes"]).map(drop)
}
