//! dm-multipath over both portals. Under fio, which verifies its writes, one path is cut silently,
//! as by a pulled cable; then the other is reset; then both are down for a while. No I/O may fail;
//! the longest I/O of each part is reported.

use super::fio;
use crate::vm::lab::{INITIATOR, Lab, MULTI};
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};

/// Time limit in seconds for the loss or the return of a path to be noticed.
const PATH_LIMIT_S: u64 = 60;
/// Time for which a path stays down.
const AWAY: Duration = Duration::from_secs(12);

/// Logs in over both portals and creates the map `wm`, with this reservation key.
pub(super) fn assemble(lab: &mut Lab, key: &str) -> Result<()> {
    lab.login(&[0, 1], &[])?;
    let disk = lab.disk(INITIATOR, 0, MULTI)?;
    lab.disk(INITIATOR, 1, MULTI)?;
    lab.require(&format!(
        "set -e
        id=$(/lib/udev/scsi_id -g -u -d {disk})
        modprobe -a dm_multipath dm_round_robin dm_service_time
        cat >/etc/multipath.conf <<END
defaults {{
  user_friendly_names no
  find_multipaths no
  polling_interval 2
  max_polling_interval 2
  path_checker tur
  path_grouping_policy multibus
  path_selector \"round-robin 0\"
  no_path_retry 60
}}
blacklist {{
  wwid \".*\"
}}
blacklist_exceptions {{
  wwid \"$id\"
}}
multipaths {{
  multipath {{
    wwid \"$id\"
    alias wm
    reservation_key {key}
  }}
}}
END
        multipathd
        wait_until 60 test -b /dev/mapper/wm
        wait_until 60 running_paths wm 2"
    ))
    .context("no multipath map")?;
    Ok(())
}

/// Rules that drop all packets of a portal in both directions.
fn cut(port: u16) -> String {
    format!("nft add rule ip cut out tcp dport {port} drop; nft add rule ip cut in tcp sport {port} drop")
}

/// Rule that answers all packets to a portal with a reset.
fn reset(port: u16) -> String {
    format!("nft add rule ip cut out tcp dport {port} reject with tcp reset")
}

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    assemble(lab, "0xa1")?;
    lab.check("one map with two paths", "multipath -ll wm", 0, &["WINDLASS", "active ready running"])?;
    let [one, two] = lab.portals.map(|portal| portal.port());
    let parts = [
        ("a path is cut without a word, and comes back", cut(two), 1),
        ("the other path is reset, and comes back", reset(one), 1),
        ("both paths are gone, and come back", format!("{}; {}", cut(one), cut(two)), 0),
    ];
    for (title, rule, left) in parts {
        let load = fio::start(
            lab,
            "paths",
            "--filename=/dev/mapper/wm --rw=randwrite --bs=4k --iodepth=4 --size=12M --rate_iops=100 --verify_backlog=64",
            Duration::from_secs(240),
        )?;
        let started = Instant::now();
        lab.require(&rule)?;
        lab.require(&format!(
            "wait_until {PATH_LIMIT_S} running_paths wm {left} && exit 0
            multipathd show maps raw format '%n=%N'; multipathd show paths; iscsiadm -m session -P 1 | grep State; nft list table ip cut; dmesg | tail -5; exit 1"
        ))
        .context("no path is missed")?;
        let missed = started.elapsed();
        std::thread::sleep(AWAY.saturating_sub(started.elapsed()));
        let early = load.ended(lab)?;
        let healed = Instant::now();
        lab.require("nft flush table ip cut")?;
        lab.require(&format!("wait_until {PATH_LIMIT_S} running_paths wm 2")).context("a path does not come back")?;
        let back = healed.elapsed();
        let finished = load.finish(lab);
        let words = finished.and_then(|finished| {
            ensure!(!early, "fio ended before the path was back");
            Ok(format!(
                "{finished}; the path was missed after {}, and back {} after the cut ended",
                text::duration::measured(missed),
                text::duration::measured(back)
            ))
        });
        lab.record(title, words);
    }
    let drop_session = lab.array.json(&["session", "list"])?;
    lab.record(
        "the array shows both sessions",
        match drop_session.to_string().matches(INITIATOR).count() {
            2.. => Ok(String::new()),
            count => Err(anyhow::anyhow!("it shows {count}: {drop_session}")),
        },
    );
    Ok(())
}
