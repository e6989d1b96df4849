//! Kills the array with SIGKILL under fio, which verifies its writes, and starts it again, three
//! times. No I/O fails at the host, which waits, and all acknowledged writes are there.

use super::fio;
use crate::vm::lab::{INITIATOR, Lab, MULTI};
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

const KILLS: u32 = 3;
/// Time between a kill and the next start.
const AWAY: Duration = Duration::from_secs(2);

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    // The host waits for the array instead of failing I/O after ten seconds.
    lab.login(&[0], &[("node.session.timeo.replacement_timeout", "180")])?;
    let disk = lab.disk(INITIATOR, 0, MULTI)?;
    let load =
        format!("--filename={disk} --rw=randwrite --bs=4k --iodepth=8 --size=24M --rate_iops=200 --verify_backlog=256");
    let running = fio::start(lab, "killed", &load, Duration::from_secs(300))?;
    let mut starts = Duration::ZERO;
    let mut ended = false;
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_secs(4));
        ended |= running.ended(lab)?;
        lab.array.kill()?;
        std::thread::sleep(AWAY);
        let started = Instant::now();
        lab.array.restart()?;
        starts = starts.max(started.elapsed());
        lab.require("wait_until 60 grep -q LOGGED_IN /sys/class/iscsi_session/session*/state")?;
    }
    let finished = running.finish(lab).and_then(|finished| {
        ensure!(!ended, "fio ended before the last kill");
        Ok(format!("{finished}; slowest start {}", text::duration::measured(starts)))
    });
    lab.record(&format!("{KILLS} times kill -9 under fio"), finished);
    let again = format!(
        "blockdev --flushbufs {disk}; fio --name=killed --filename={disk} --rw=randwrite --bs=4k --size=24M --verify=crc32c \
         --verify_only --direct=1 --ioengine=libaio --iodepth=8 --verify_fatal=1 >/run/again 2>&1; status=$?; tail -5 /run/again; exit $status"
    );
    lab.check("everything is verified once more", &again, 0, &[])?;
    Ok(())
}
