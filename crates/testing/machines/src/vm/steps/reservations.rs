//! Persistent reservations as Linux hosts use them: every action of sg_persist through two I_T
//! nexuses, then a host that holds its reservation with mpathpersist over two paths is fenced by
//! another host.

use super::multipath;
use crate::vm::lab::{INITIATOR, Lab, MULTI, OTHER_INITIATOR, PLAIN};
use anyhow::Result;
use conformance::initiator::{Session, SessionOptions};
use conformance::persistent_reservation::service_action;
use std::time::Duration;

/// Status of sg_persist for RESERVATION CONFLICT (sg3_utils(8)).
const CONFLICT: i32 = 24;
/// WRITE EXCLUSIVE - REGISTRANTS ONLY.
const WRITE_EXCLUSIVE_REGISTRANTS_ONLY: u8 = 5;

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    actions(lab)?;
    fencing(lab)
}

/// Tests each action; `A` and `B` are the logical unit through the two initiators.
fn actions(lab: &mut Lab) -> Result<()> {
    lab.login(&[0], &[])?;
    lab.login_as("other", &[1], &[])?;
    let (a, b) = (lab.disk(INITIATOR, 0, PLAIN)?, lab.disk(OTHER_INITIATOR, 1, PLAIN)?);
    let write = |disk: &str| format!("dd if=/dev/zero of={disk} bs=4k count=1 oflag=direct conv=notrunc");
    let persist = |disk: &str, words: &str| format!("sg_persist -n {words} {disk}");
    let transport = format!("{INITIATOR},i,0x");
    let checks: Vec<(&str, String, i32, Vec<&str>)> = vec![
        (
            "REPORT CAPABILITIES",
            persist(&a, "-i -c"),
            0,
            vec!["Persist Through Power Loss Capable(PTPL_C): 1", "Compatible Reservation Handling(CRH): 1"],
        ),
        ("READ KEYS without any", persist(&a, "-i -k"), 0, vec!["NO registered reservation keys"]),
        ("REGISTER", persist(&a, "-o -G -S 0xa1"), 0, vec![]),
        ("REGISTER by the other", persist(&b, "-o -G -S 0xb1"), 0, vec![]),
        ("REGISTER with a wrong key", persist(&b, "-o -G -K 0xbad -S 0xb2"), CONFLICT, vec![]),
        ("READ KEYS", persist(&b, "-i -k"), 0, vec!["2 registered reservation keys follow", "0xa1", "0xb1"]),
        ("RESERVE, WRITE EXCLUSIVE", persist(&a, "-o -R -K 0xa1 -T 1"), 0, vec![]),
        ("READ RESERVATION", persist(&b, "-i -r"), 0, vec!["Key=0xa1", "Write Exclusive"]),
        ("RESERVE by the other", persist(&b, "-o -R -K 0xb1 -T 1"), CONFLICT, vec![]),
        ("the holder writes", write(&a), 0, vec![]),
        ("the other may not", write(&b), 1, vec![]),
        ("the other reads", format!("dd if={b} of=/dev/null bs=4k count=1 iflag=direct"), 0, vec![]),
        ("RELEASE", persist(&a, "-o -L -K 0xa1 -T 1"), 0, vec![]),
        ("RESERVE, EXCLUSIVE ACCESS - REGISTRANTS ONLY", persist(&a, "-o -R -K 0xa1 -T 6"), 0, vec![]),
        ("a registrant writes", write(&b), 0, vec![]),
        ("READ FULL STATUS", persist(&a, "-i -s"), 0, vec!["Key=0xa1", "Key=0xb1", "Reservation holder", "iSCSI"]),
        ("PREEMPT", persist(&b, "-o -P -K 0xb1 -S 0xa1 -T 6"), 0, vec![]),
        ("the preempted may not write", write(&a), 1, vec![]),
        ("REGISTER AND IGNORE EXISTING KEY", persist(&a, "-o -I -S 0xa2"), 0, vec![]),
        ("PREEMPT AND ABORT", persist(&a, "-o -A -K 0xa2 -S 0xb1 -T 5"), 0, vec![]),
        ("READ RESERVATION after it", persist(&a, "-i -r"), 0, vec!["Key=0xa2", "Write Exclusive, registrants only"]),
        ("CLEAR", persist(&a, "-o -C -K 0xa2"), 0, vec![]),
        // The other initiator has a unit attention: it was preempted.
        (
            "READ RESERVATION without one",
            format!("sg_turs {b}; {}", persist(&b, "-i -r")),
            0,
            vec!["there is NO reservation held"],
        ),
        ("REGISTER with APTPL", persist(&a, "-o -G -S 0xa3 -Z"), 0, vec![]),
        ("RESERVE, WRITE EXCLUSIVE - ALL REGISTRANTS", persist(&a, "-o -R -K 0xa3 -T 7"), 0, vec![]),
        ("RELEASE of another type", persist(&a, "-o -L -K 0xa3 -T 1"), 5, vec![]),
        ("RELEASE of all registrants", persist(&a, "-o -L -K 0xa3 -T 7"), 0, vec![]),
        ("RESERVE, EXCLUSIVE ACCESS", persist(&a, "-o -R -K 0xa3 -T 3"), 0, vec![]),
        ("the other may not read", format!("sg_raw -r 512 {b} 28 00 00 00 00 00 00 00 01 00"), CONFLICT, vec![]),
    ];
    for (title, script, status, words) in checks {
        lab.check(title, &script, status, &words)?;
    }
    // REGISTER AND MOVE names the destination port: the other initiator, whose ISID is in READ FULL
    // STATUS.
    let register = lab.check("REGISTER by the other, again", &persist(&b, "-o -G -S 0xb3"), 0, &[])?;
    drop(register);
    let full = lab.require(&persist(&b, "-i -s"))?;
    let isid = full.lines().map(str::trim).skip_while(|line| !line.contains("vm-other")).find_map(|line| {
        let (_, rest) = line.split_once(",i,0x")?;
        Some(rest.trim().to_owned())
    });
    let isid = match isid {
        Some(isid) => isid,
        None => {
            lab.record("READ FULL STATUS names the other's port", Err(anyhow::anyhow!("no {transport} in\n{full}")));
            return Ok(());
        }
    };
    let moves = persist(&a, &format!("-o -M -K 0xa3 -S 0xb3 -Q 2 -X {OTHER_INITIATOR},i,0x{isid}"));
    lab.check("REGISTER AND MOVE", &moves, 0, &[])?;
    lab.check("the other has the reservation now", &persist(&a, "-i -r"), 0, &["Key=0xb3", "Exclusive Access"])?;
    lab.check("the last CLEAR", &persist(&b, "-o -C -K 0xb3"), 0, &[])?;
    lab.require("iscsiadm -m node -U all >/dev/null").map(drop)
}

/// Tests fencing: the guest holds a reservation over both paths, and another host, outside the
/// guest, fences it.
fn fencing(lab: &mut Lab) -> Result<()> {
    multipath::assemble(lab, "0xa1")?;
    let register = "mpathpersist --out --register --param-sark=0xa1 /dev/mapper/wm";
    lab.check("mpathpersist registers every path", register, 0, &[])?;
    let keys = "mpathpersist --in -k /dev/mapper/wm";
    lab.check("both paths have the key", keys, 0, &["2 registered reservation key", "0xa1"])?;
    let reserve = "mpathpersist --out --reserve --param-rk=0xa1 --prout-type=5 /dev/mapper/wm";
    lab.check("mpathpersist reserves", reserve, 0, &[])?;
    let held = "mpathpersist --in -r /dev/mapper/wm";
    lab.check("the reservation is there", held, 0, &["Key = 0xa1", "Write Exclusive, registrants only"])?;
    let write = "dd if=/dev/urandom of=/dev/mapper/wm bs=4k count=64 oflag=direct conv=notrunc";
    lab.check("the holder writes over both paths", write, 0, &[])?;

    let mut url = lab.url("multi")?;
    url.lun = MULTI;
    let options = SessionOptions {
        initiator_name: "iqn.2026-01.org.example:vm-fencing-host".into(),
        timeout: Duration::from_secs(20),
        ..SessionOptions::default()
    };
    let mut other = Session::connect(&url, &options)?;
    other.clear_unit_attentions()?;
    let before = other.write16(0, vec![0x5a; 4096].into());
    let refused = match before {
        Err(error) => Ok(error.to_string()),
        Ok(()) => Err(anyhow::anyhow!("it may write")),
    };
    lab.record("a host without a key may not write", refused);
    let fenced = other
        .persistent_reserve_out(service_action::REGISTER_AND_IGNORE_EXISTING_KEY, 0, (0, 0xb1), 0)
        .and_then(|()| {
            let kind = WRITE_EXCLUSIVE_REGISTRANTS_ONLY;
            other.persistent_reserve_out(service_action::PREEMPT_AND_ABORT, kind, (0xb1, 0xa1), 0)
        })
        .and_then(|()| other.write16(0, vec![0x5a; 4096].into()));
    lab.record("another host registers, preempts it and writes", fenced.map(|()| String::new()).map_err(Into::into));
    lab.check("the fenced host's write fails", write, 1, &[])?;
    lab.check("its key is gone from both paths", keys, 0, &["1 registered reservation key", "0xb1"])?;
    let block = other.read16(0, 8)?;
    let untouched =
        if block.iter().all(|byte| *byte == 0x5a) { Ok(String::new()) } else { Err(anyhow::anyhow!("it is not")) };
    lab.record("what the other host wrote is still there", untouched);
    // The key has to be the one of multipath.conf: mpathpersist accepts no other.
    let again = "mpathpersist --out --register-ignore --param-sark=0xa1 /dev/mapper/wm";
    lab.check("the guest registers anew", again, 0, &[])?;
    let cleared = other.persistent_reserve_out(service_action::CLEAR, 0, (0xb1, 0), 0);
    lab.record("the other host clears", cleared.map(|()| String::new()).map_err(Into::into));
    lab.check("the guest registers once more", again, 0, &[])?;
    lab.check("and reserves", reserve, 0, &[])?;
    lab.check("and holds the reservation again", held, 0, &["Key = 0xa1"])?;
    lab.check("and writes again", write, 0, &[])?;
    let release = "mpathpersist --out --release --param-rk=0xa1 --prout-type=5 /dev/mapper/wm";
    lab.check("mpathpersist releases", release, 0, &[])?;
    let clear = "mpathpersist --out --clear --param-rk=0xa1 /dev/mapper/wm";
    lab.check("mpathpersist clears", clear, 0, &[])?;
    Ok(other.logout()?)
}
