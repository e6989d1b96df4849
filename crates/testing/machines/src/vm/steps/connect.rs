//! `windlass connect linux`: a host of which the array knows nothing but its name enters what the plan
//! says, first with a wrong CHAP secret, and has a mounted file system. The array sees each step by
//! itself; the plan's undo leaves nothing.
//!
//! The guest has neither systemd nor a network to install packages from: two stand-ins start the
//! services that the plan names, and refuse packages that the guest does not have.

use super::login::AUTH_FAILED;
use crate::vm::lab::{Lab, judged, quoted};
use crate::vm::machine::Output;
use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const HOST: &str = "wizard";
const INITIATOR: &str = "iqn.2026-01.org.example:wizard";
const SECRET: &str = "the-right-secret";
const VOLUME: &str = "connected";
/// Most time until an administrator sees what a host did.
const SEEN_WITHIN: Duration = Duration::from_secs(2);
/// Time limit for what the array sees at the end.
const READY_LIMIT: Duration = Duration::from_secs(60);
/// Where a plan says that its commands are entered.
const PLACE: &str = "on the host, as root";

/// Stand-ins for what the guest does not have.
const STAND_INS: &str = r#"set -e
cat >/usr/local/sbin/systemctl <<'END'
#!/bin/bash
case "$*" in
"enable --now iscsid") pgrep -x iscsid >/dev/null || iscsid ;;
"restart iscsid") pkill -x iscsid; while pgrep -x iscsid >/dev/null; do sleep 0.1; done; iscsid ;;
"enable --now multipathd")
    modprobe -a dm_multipath dm_service_time
    pgrep -x multipathd >/dev/null || multipathd
    until multipathd show status >/dev/null 2>&1; do sleep 0.2; done
    ;;
"enable --now fstrim.timer") ;;
*) echo "no plan needs systemctl $*" >&2; exit 1 ;;
esac
END
cat >/usr/local/sbin/apt-get <<'END'
#!/bin/bash
[ "$1 $2" = "install -y" ] && shift 2 && dpkg --status "$@" >/dev/null
END
chmod 755 /usr/local/sbin/systemctl /usr/local/sbin/apt-get"#;

/// A running `windlass connect --watch`, and the lines that it has printed. Dropping it ends it.
struct Watch {
    process: Child,
    lines: Receiver<(Timestamp, String)>,
}

impl Watch {
    fn start(lab: &Lab) -> Result<Self> {
        let server = lab.array.server();
        let arguments =
            ["--server", &server, "connect", "linux", HOST, "--volume", VOLUME, "--watch", "--patience", "10m"];
        let mut process = Command::new(&lab.windlass)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the watch")?;
        let printed = process.stderr.take().context("the watch has no output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let printed = BufReader::new(printed).lines().map_while(Result::ok);
            printed.take_while(|line| sender.send((Timestamp::now(), line.clone())).is_ok()).for_each(drop);
        });
        Ok(Self { process, lines })
    }

    /// Waits for a line with this text; returns the time at which it came, and it.
    fn wait_for(&self, text: &str, limit: Duration) -> Result<(Timestamp, String)> {
        let ends = Instant::now() + limit;
        let mut before = String::new();
        loop {
            match self.lines.recv_timeout(ends.saturating_duration_since(Instant::now())) {
                Ok((at, line)) if line.contains(text) => return Ok((at, line)),
                Ok((_, line)) => before.push_str(&format!("{line}\n")),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => before.push_str("(it ended)\n"),
            }
            ensure!(Instant::now() < ends, "no {text:?} within {} s\n{}", limit.as_secs(), quoted(&before));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// Commands of an array of commands as a script that ends at the first failure.
fn script(commands: &Value) -> Result<String> {
    let commands = commands.as_array().context("no commands")?;
    let mut script = String::from("set -e\n");
    for command in commands {
        ensure!(command["file"].is_null(), "a plan for Linux has a file: {command}");
        script.push_str(command["text"].as_str().context("a command without text")?);
        script.push('\n');
    }
    Ok(script)
}

/// Enters the steps of the plan from `first` to `last`, with this secret, until one fails.
fn enter(lab: &mut Lab, plan: &Value, (first, last): (&str, &str), secret: &str) -> Result<Output> {
    let steps = plan["steps"].as_array().context("a plan without steps")?;
    let place = |id: &str| steps.iter().position(|step| step["id"] == id).with_context(|| format!("no step {id}"));
    let (first, last) = (place(first)?, place(last)?);
    let mut entered = Output { status: 0, text: String::new() };
    for step in steps.iter().take(last + 1).skip(first) {
        ensure!(step["place"].as_str().is_some_and(|place| place.starts_with(PLACE)), "not on the host: {step}");
        let commands = script(&step["commands"])?.replace("CHAP-SECRET", secret);
        let output = lab.script(&commands, Duration::from_secs(120))?;
        entered.text.push_str(&format!("step {}:\n{}\n", step["id"], output.text));
        entered.status = output.status;
        if output.status != 0 {
            break;
        }
    }
    Ok(entered)
}

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    lab.require(STAND_INS)?;
    // The other interface of the guest has an initiator name of its own, and discovery would use it too.
    let before =
        lab.require("cat /etc/iscsi/initiatorname.iscsi; mv /etc/iscsi/ifaces/other /run; pkill -x iscsid || true")?;
    let file = lab.directory.join("wizard-secret");
    std::fs::write(&file, SECRET)?;
    let secret = format!("file:{}", file.display());
    lab.array.command(&["host", "create", HOST, "--iqn", INITIATOR, "--chap-user", HOST, "--chap-secret", &secret])?;
    lab.array.command(&["volume", "create", VOLUME, "--size", "1G"])?;
    lab.array.command(&["access", "grant", VOLUME, "--host", HOST])?;
    let connected = connected(lab);
    // What the guest had is there again, whatever failed.
    let restored = lab.require(&format!(
        "rm -f /etc/multipath/conf.d/windlass.conf /usr/local/sbin/systemctl /usr/local/sbin/apt-get
        mv /run/other /etc/iscsi/ifaces
        printf '%s\\n' '{}' >/etc/iscsi/initiatorname.iscsi
        pkill -x iscsid; while pgrep -x iscsid >/dev/null; do sleep 0.1; done
        iscsid",
        before.trim()
    ));
    connected?;
    restored?;
    lab.array.command(&["access", "revoke", VOLUME, "--host", HOST, "--yes"])?;
    lab.array.command(&["host", "delete", HOST, "--yes"])?;
    lab.array.command(&["volume", "delete", VOLUME, "--yes"])?;
    Ok(())
}

/// From the plan to a mounted file system, and back.
fn connected(lab: &mut Lab) -> Result<()> {
    let plan = lab.array.json(&["connect", "linux", HOST, "--volume", VOLUME])?;
    let watch = Watch::start(lab)?;

    let entered = enter(lab, &plan, ("initiator", "login"), "not-the-secret-of-it")?;
    let seen = judged(&entered, AUTH_FAILED, &["step \"discovery\""]).and_then(|_| {
        ensure!(!entered.text.contains("step \"chap\""), "the discovery took a wrong secret");
        let (at, line) = watch.wait_for("refused", READY_LIMIT)?;
        ensure!(line.contains(INITIATOR), "{line}");
        let refusals = lab.array.json(&["session", "logins", "--filter", "refused=true"])?;
        let of_host = |row: &&Value| row["initiator"] == INITIATOR;
        let first = refusals.as_array().and_then(|rows| rows.iter().rfind(of_host)).context("no refused login")?;
        let time: Timestamp = first["time"].as_str().context("a login without time")?.parse()?;
        let after = Duration::try_from(at.duration_since(time)).unwrap_or_default();
        ensure!(after <= SEEN_WITHIN, "seen only after {}", text::duration::measured(after));
        Ok(format!("seen after {}", text::duration::measured(after)))
    });
    lab.record("a wrong secret is refused, and seen within 2 s", seen);

    let started = Instant::now();
    let entered = enter(lab, &plan, ("discovery", "file-system"), SECRET)?;
    let mounted = judged(&entered, 0, &[]).map(|_| format!("in {}", text::duration::measured(started.elapsed())));
    lab.record("the printed commands log in, find the disk, make a file system and mount it", mounted);
    let ready = watch.wait_for(&format!("host {HOST} can use {VOLUME}"), READY_LIMIT);
    lab.record("the array sees by itself that the host can use the volume", ready.map(|_| String::new()));
    let through =
        "multipath -ll | grep -c 'active ready running'; findmnt --noheadings --output SOURCE,FSTYPE /mnt/connected";
    lab.check("the file system is on a map with both paths", through, 0, &["2\n", "/dev/mapper/", "xfs"])?;
    let used = "head -c 8M /dev/urandom >/mnt/connected/file && sync && fstrim -v /mnt/connected";
    lab.check("it takes data, and gives space back", used, 0, &["trimmed"])?;

    let undo = script(&plan["undo"])?;
    let left = "findmnt /mnt/connected || grep connected /etc/fstab || multipath -ll | grep WINDLASS";
    let gone = format!("{undo}if {left}; then exit 1; fi");
    lab.check("the undo of the volume takes its disk away", &gone, 0, &[])?;
    let left = format!("[ ! -e {} ] && iscsiadm -m session | wc -l", disk(&plan)?);
    lab.check("and leaves the sessions", &left, 0, &["2"])?;
    let undo = script(&plan["undo_host"])?;
    let gone = format!("{undo}\n! iscsiadm -m session && ! iscsiadm -m node");
    lab.check("the undo of the host takes it off the array", &gone, 0, &[]).map(drop)
}

/// Link of the disk, by its designator.
fn disk(plan: &Value) -> Result<String> {
    let naa = plan["facts"]["naa"].as_str().context("a plan without designator")?;
    Ok(format!("/dev/disk/by-id/wwn-0x{}", naa.trim_start_matches("naa.")))
}
