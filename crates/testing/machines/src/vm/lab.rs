//! Array, guest, and record of the checks.

use super::image::Image;
use super::machine::{Machine, Output, Rack};
use super::steps::Step;
use crate::qemu::Accelerator;
use crate::tally::Tally;
use anyhow::{Context, Result, bail, ensure};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::program;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PRELUDE: &str = include_str!("guest/prelude.sh");
/// Initiator names of the guest: its own, and that of its second interface.
pub(super) const INITIATOR: &str = "iqn.2026-01.org.example:vm";
pub(super) const OTHER_INITIATOR: &str = "iqn.2026-01.org.example:vm-other";
/// Default time limit of a script.
pub(super) const SCRIPT_LIMIT: Duration = Duration::from_secs(120);
/// Volumes granted to every initiator, with LUN and size.
pub(super) const VOLUMES: [(&str, u16, &str); 4] =
    [("plain", 0, "256M"), ("second", 1, "256M"), ("multi", 2, "512M"), ("files", 3, "1G")];
pub(super) const PLAIN: u16 = 0;
pub(super) const SECOND: u16 = 1;
pub(super) const MULTI: u16 = 2;
pub(super) const FILES: u16 = 3;
/// Lines of a script's output that a failure quotes.
const QUOTED_LINES: usize = 14;

/// Laboratory of one run: array, guest, and record of the checks.
pub(super) struct Lab {
    pub(super) array: Array,
    pub(super) machine: Machine,
    pub(super) portals: [SocketAddr; 2],
    /// Port of 127.0.0.1 that is forwarded to LIO in the guest.
    pub(super) lio_port: u16,
    /// Name of the array's target.
    pub(super) target: String,
    pub(super) directory: PathBuf,
    pub(super) windlass: PathBuf,
    pub(super) verbose: bool,
    pub(super) ends_at: Instant,
    step: usize,
    checks: usize,
    tally: Tally,
    summary: Vec<String>,
    lost: bool,
}

impl Lab {
    /// Starts an array with its volumes, and the guest, which is told how to reach it.
    pub(super) fn start(
        windlass: &Path,
        image: &Image,
        tool: &Path,
        directory: &Path,
        accelerator: Accelerator,
    ) -> Result<Self> {
        let windlass = windlass.canonicalize()?;
        let portals = [free_portal()?, free_portal()?];
        let array = Array::start(ArrayOptions {
            executable: windlass.clone(),
            state_directory: directory.join("array"),
            portals: portals.to_vec(),
            pool_size: "6G".into(),
            arguments: Vec::new(),
        })?;
        for (name, lun, size) in VOLUMES {
            array.command(&["volume", "create", name, "--size", size])?;
            array.command(&["access", "grant", name, "--any", "--lun", &lun.to_string()])?;
        }
        let url = array.volume("plain")?.url().to_owned();
        let target = url.rsplit('/').nth(1).with_context(|| format!("the strange URL {url}"))?.to_owned();
        let lio_port = free_portal()?.port();
        let rack = Rack { image, tool, directory, forwards: vec![(lio_port, 3260)] };
        let machine = rack.boot(accelerator)?;
        let mut lab = Self {
            array,
            machine,
            portals,
            lio_port,
            target,
            directory: directory.to_path_buf(),
            windlass,
            verbose: false,
            ends_at: Instant::now() + Duration::from_secs(600),
            step: 0,
            checks: 0,
            tally: Tally::default(),
            summary: Vec::new(),
            lost: false,
        };
        lab.prepare().context("cannot prepare the guest")?;
        Ok(lab)
    }

    /// Sends names and ports to the guest, and redirects its 127.0.0.1 to this machine, because
    /// discovery returns that address.
    fn prepare(&mut self) -> Result<()> {
        let [one, two] = self.portals.map(|portal| portal.port());
        let variables = format!("P1={one} P2={two} IQN={} A={INITIATOR} B={OTHER_INITIATOR}\n", self.target);
        self.require(&format!("cat >/run/prelude <<'WINDLASS-END'\n{variables}{PRELUDE}WINDLASS-END\n"))?;
        self.require(&format!(
            "set -e
            echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet
            nft -f - <<'END'
table ip windlass {{
  chain way {{ type nat hook output priority -100; ip daddr 127.0.0.0/8 tcp dport {{ {one}, {two} }} dnat to 10.0.2.2; }}
  chain source {{ type nat hook postrouting priority 100; oifname \"eth0\" ip saddr 127.0.0.0/8 masquerade; }}
}}
table ip cut {{
  chain out {{ type filter hook output priority 0; }}
  chain in {{ type filter hook input priority 0; }}
}}
END
            echo InitiatorName={INITIATOR} >/etc/iscsi/initiatorname.iscsi
            set() {{ sed -i \"/^$1 *=/d\" /etc/iscsi/iscsid.conf; echo \"$1 = $2\" >>/etc/iscsi/iscsid.conf; }}
            set node.session.timeo.replacement_timeout 10
            set 'node.conn\\[0\\].timeo.noop_out_interval' 4
            set 'node.conn\\[0\\].timeo.noop_out_timeout' 4
            sed -i 's/\\\\//g' /etc/iscsi/iscsid.conf
            set node.session.initial_login_retry_max 2
            mkdir -p /etc/iscsi/ifaces /etc/multipath
            printf 'iface.iscsi_ifacename = other\\niface.transport_name = tcp\\niface.initiatorname = {OTHER_INITIATOR}\\n' >/etc/iscsi/ifaces/other
            modprobe -a nft_masq nft_nat 2>/dev/null || true
            iscsid"
        ))?;
        Ok(())
    }

    /// Runs a step, cleans up after it in the guest, and continues after an error.
    pub(super) fn carry_out(&mut self, number: usize, step: &Step) {
        (self.step, self.checks) = (number, 0);
        let (before, started) = (self.tally, Instant::now());
        println!("{number} {}: {}", step.name, step.asks);
        let ran = match (self.lost, self.left()) {
            (_, Duration::ZERO) => Err(anyhow::anyhow!("no time is left for it")),
            (true, _) => Err(anyhow::anyhow!("the guest is lost")),
            _ => (step.run)(self),
        };
        let ran = ran.and_then(|()| self.clean_up());
        if let Err(error) = ran {
            self.record("the step", Err(error));
            if self.left().is_zero() {
                self.lost = true;
            }
            if !self.lost && self.clean_up().is_err() {
                self.lost = true;
            }
        }
        let (passed, failed) = (self.tally.passed - before.passed, self.tally.failed - before.failed);
        let verdict = if failed == 0 { "pass" } else { "FAIL" };
        self.summary.push(format!(
            "{verdict} {number} {:14} {passed:3} passed, {failed} failed, {}",
            step.name,
            text::duration::measured(started.elapsed())
        ));
    }

    /// Removes state that would affect the next step.
    fn clean_up(&mut self) -> Result<()> {
        self.require(
            "nft flush table ip cut
            for place in /mnt/*; do mountpoint -q $place && umount $place; done
            if [ -e /run/multipathd.pid ]; then multipath -F; multipathd shutdown; sleep 1; fi
            rm -f /etc/multipath.conf
            [ -z \"$(ls /sys/class/iscsi_session 2>/dev/null)\" ] || iscsiadm -m node -U all
            rm -rf /etc/iscsi/nodes/* /etc/iscsi/send_targets/*
            true",
        )
        .map(drop)
    }

    /// Prints the summary, stops the array cleanly and checks its pool.
    pub(super) fn finish(mut self) -> Result<Tally> {
        drop(self.machine);
        let pool = self.array.pool_file();
        let stopped = self.array.stop().and_then(|()| {
            let arguments = ["pool".as_ref(), "check".as_ref(), pool.as_os_str()];
            program::require(&self.windlass, &arguments, Duration::from_secs(120)).map(drop)
        });
        println!();
        for line in &self.summary {
            println!("{line}");
        }
        match &stopped {
            Ok(()) => println!("pass   the array stopped, and pool check finds nothing"),
            Err(error) => println!("FAIL   {error:#}"),
        }
        self.tally += Tally::one(stopped.is_ok());
        Ok(self.tally)
    }

    /// Time left of the whole run.
    fn left(&self) -> Duration {
        self.ends_at.saturating_duration_since(Instant::now())
    }

    /// Runs a script in the guest.
    pub(super) fn script(&mut self, script: &str, limit: Duration) -> Result<Output> {
        let limit = limit.min(self.left()).max(Duration::from_secs(1));
        let output = self.machine.run(script, limit);
        if output.is_err() {
            self.lost = true;
        }
        let output = output?;
        if self.verbose {
            output.text.lines().for_each(|line| println!("      | {line}"));
        }
        Ok(output)
    }

    /// Runs a script that has to exit with 0; returns its output.
    pub(super) fn require(&mut self, script: &str) -> Result<String> {
        self.require_within(script, SCRIPT_LIMIT)
    }

    /// Like [`Self::require`], with another time limit.
    pub(super) fn require_within(&mut self, script: &str, limit: Duration) -> Result<String> {
        let output = self.script(script, limit)?;
        ensure!(output.status == 0, "status {} of\n{}\n{}", output.status, indented(script), quoted(&output.text));
        Ok(output.text)
    }

    /// Records the result of a check: words about a success, or the failure.
    pub(super) fn record(&mut self, title: &str, result: Result<String>) {
        self.checks += 1;
        let number = format!("{}.{:02}", self.step, self.checks);
        match &result {
            Ok(words) if words.is_empty() => println!("  {number} pass  {title}"),
            Ok(words) => println!("  {number} pass  {title}: {words}"),
            Err(error) => println!("  {number} FAIL  {title}: {}", format!("{error:#}").replace('\n', "\n        ")),
        }
        self.tally += Tally::one(result.is_ok());
    }

    /// Checks that the script exits with this status and prints all of these words. Returns its
    /// output, which is empty if the script could not be run.
    pub(super) fn check(&mut self, title: &str, script: &str, status: i32, words: &[&str]) -> Result<String> {
        let output = self.script(script, SCRIPT_LIMIT)?;
        self.record(title, judged(&output, status, words));
        Ok(output.text)
    }

    /// Logs in to the portals, 0 and 1, as the guest's own initiator, with further settings of the
    /// node record.
    pub(super) fn login(&mut self, portals: &[usize], settings: &[(&str, &str)]) -> Result<()> {
        self.login_as("default", portals, settings)
    }

    /// Like [`Self::login`], through an interface of open-iscsi with an initiator name of its own.
    pub(super) fn login_as(&mut self, interface: &str, portals: &[usize], settings: &[(&str, &str)]) -> Result<()> {
        let mut script = String::from("set -e\n");
        for portal in portals {
            script.push_str(&self.node(interface, *portal, settings)?);
            let node = self.node_options(interface, *portal)?;
            script.push_str(&format!("iscsiadm -m node {node} -l >/dev/null\n"));
        }
        self.require(&script).map(drop)
    }

    /// Options of iscsiadm that identify a node record.
    pub(super) fn node_options(&self, interface: &str, portal: usize) -> Result<String> {
        let portal = self.portals.get(portal).context("no such portal")?;
        Ok(format!("-I {interface} -T {} -p {portal}", self.target))
    }

    /// Script that creates a node record.
    pub(super) fn node(&self, interface: &str, portal: usize, settings: &[(&str, &str)]) -> Result<String> {
        let node = self.node_options(interface, portal)?;
        let mut script = format!("iscsiadm -m node {node} -o new >/dev/null\n");
        for (name, value) in settings {
            script.push_str(&format!("iscsiadm -m node {node} -o update -n '{name}' -v '{value}'\n"));
        }
        Ok(script)
    }

    /// Block device of a logical unit in the guest, through a portal.
    pub(super) fn disk(&mut self, initiator: &str, portal: usize, lun: u16) -> Result<String> {
        let port = self.portals.get(portal).context("no such portal")?.port();
        let text = self.require(&format!("disk {initiator} {port} {lun}"))?;
        let disk = text.lines().find(|line| line.starts_with("/dev/")).context("no disk")?;
        Ok(disk.trim().to_owned())
    }

    /// URL of a volume on this machine.
    pub(super) fn url(&self, volume: &str) -> Result<conformance::url::Url> {
        Ok(self.array.volume(volume)?.url().parse()?)
    }

    /// Waits until the pool uses at most `most_bytes`; returns its use.
    pub(super) fn wait_for_space(&self, most_bytes: u64, limit: Duration) -> Result<u64> {
        let started = Instant::now();
        loop {
            let used = self.array.pool_number("used_bytes")?;
            if used <= most_bytes {
                return Ok(used);
            }
            if started.elapsed() > limit {
                bail!("the pool uses {}, and not at most {}", text::size::format(used), text::size::format(most_bytes));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Judges the output of a script.
pub(super) fn judged(output: &Output, status: i32, words: &[&str]) -> Result<String> {
    ensure!(output.status == status, "status {} and not {status}\n{}", output.status, quoted(&output.text));
    for word in words {
        ensure!(output.text.contains(word), "does not print {word:?}\n{}", quoted(&output.text));
    }
    Ok(String::new())
}

/// The last lines of an output.
pub(super) fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(QUOTED_LINES)).map(|line| format!("  | {line}"));
    last.collect::<Vec<_>>().join("\n")
}

fn indented(script: &str) -> String {
    script.lines().map(|line| format!("  > {}", line.trim())).collect::<Vec<_>>().join("\n")
}
