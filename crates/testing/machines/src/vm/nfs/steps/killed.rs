//! The server is killed under eight writers, each with a journal of what it was told is durable. The
//! writers wait, and everything in the journals is there.

use crate::vm::nfs::lab::{Lab, Version};
use crate::vm::nfs::script::End;
use anyhow::Result;
use std::time::{Duration, Instant};

const WRITERS: &str = include_str!("writers.py");
const CHECKS: &str = include_str!("killed.sh");
const KILLS: u32 = 3;
/// Time between two kills, and of the server's absence.
const SERVED: Duration = Duration::from_secs(8);
const AWAY: Duration = Duration::from_secs(2);

pub(in crate::vm::nfs) fn run(lab: &mut Lab) -> Result<()> {
    if !lab.has_array() {
        return Ok(());
    }
    lab.run.require(&format!("cat >/tmp/writers.py <<'WINDLASS-END'\n{WRITERS}WINDLASS-END\n"))?;
    for version in [Version::V42, Version::V3] {
        lab.work(version, &[])?;
        lab.run.require(
            "rm -rf /tmp/journals /tmp/stop /tmp/writers.out /tmp/writers.status; mkdir /tmp/journals
            (cd /mnt/s/work; python3 /tmp/writers.py write >/tmp/writers.out 2>&1; echo $? >/tmp/writers.status) >/dev/null 2>&1 </dev/null &
            wait_until 60 eval '[ $(cat /tmp/journals/* | wc -l) -gt 8 ]'",
        )?;
        let mut slowest = Duration::ZERO;
        for _ in 0..KILLS {
            std::thread::sleep(SERVED);
            lab.restart(End::Kill, AWAY)?;
            let started = Instant::now();
            lab.run.require(
                "before=$(cat /tmp/journals/* | wc -l); wait_until 90 eval '[ $(cat /tmp/journals/* | wc -l) -gt $before ]'",
            )?;
            slowest = slowest.max(started.elapsed());
        }
        let number = version.number();
        let words = format!("longest wait until a write after the start {}", text::duration::measured(slowest));
        lab.run.record(&format!("{number}: {KILLS} times kill -9 under eight writers"), Ok(words));
        lab.checks(&format!("{number}: "), "/mnt/s/work", CHECKS)?;
        lab.remove_work()?;
    }
    Ok(())
}
