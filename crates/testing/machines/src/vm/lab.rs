//! The array as a target of a guest.

use super::image::Image;
use super::machine::{Output, Rack};
use super::run::{Laboratory, Run};
pub(super) use super::run::{judged, quoted};
use crate::qemu::Accelerator;
use crate::tally::Tally;
use anyhow::{Context, Result, bail};
use array_process::array::{Array, ArrayOptions, free_portal};
use array_process::program;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PRELUDE: &str = include_str!("guest/prelude.sh");
/// Initiator names of the guest: its own, and that of its second interface.
pub(super) const INITIATOR: &str = "iqn.2026-01.org.example:vm";
pub(super) const OTHER_INITIATOR: &str = "iqn.2026-01.org.example:vm-other";
/// Memory of the guest in MiB: LIO's logical units are in it.
const MEMORY_MIB: u32 = 3072;
/// Volumes granted to every initiator, with LUN and size.
pub(super) const VOLUMES: [(&str, u16, &str); 4] =
    [("plain", 0, "256M"), ("second", 1, "256M"), ("multi", 2, "512M"), ("files", 3, "1G")];
pub(super) const PLAIN: u16 = 0;
pub(super) const SECOND: u16 = 1;
pub(super) const MULTI: u16 = 2;
pub(super) const FILES: u16 = 3;

/// Laboratory of one run: array, guest, and record of the checks.
pub(super) struct Lab {
    pub(super) array: Array,
    pub(super) run: Run,
    pub(super) portals: [SocketAddr; 2],
    /// Port of 127.0.0.1 that is forwarded to LIO in the guest.
    pub(super) lio_port: u16,
    /// Name of the array's target.
    pub(super) target: String,
    pub(super) directory: PathBuf,
    pub(super) windlass: PathBuf,
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
        let forwards = vec![(lio_port, 3260)];
        let rack = Rack { image, tool, archive: None, memory_mib: MEMORY_MIB, directory, forwards };
        let machine = rack.boot(accelerator)?;
        let mut lab = Self {
            array,
            run: Run::new(machine, false, Instant::now() + Duration::from_secs(600)),
            portals,
            lio_port,
            target,
            directory: directory.to_path_buf(),
            windlass,
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

    /// Stops the array cleanly, checks its pool and prints the summary.
    pub(super) fn finish(self) -> Result<Tally> {
        let Self { mut array, run, windlass, .. } = self;
        let mut tally = run.finish();
        let pool = array.pool_file();
        let stopped = array.stop().and_then(|()| {
            let arguments = ["pool".as_ref(), "check".as_ref(), pool.as_os_str()];
            program::require(&windlass, &arguments, Duration::from_secs(120)).map(drop)
        });
        match &stopped {
            Ok(()) => println!("pass   the array stopped, and pool check finds nothing"),
            Err(error) => println!("FAIL   {error:#}"),
        }
        tally += Tally::one(stopped.is_ok());
        Ok(tally)
    }

    /// See [`Run::script`].
    pub(super) fn script(&mut self, script: &str, limit: Duration) -> Result<Output> {
        self.run.script(script, limit)
    }

    /// See [`Run::require`].
    pub(super) fn require(&mut self, script: &str) -> Result<String> {
        self.run.require(script)
    }

    /// See [`Run::require_within`].
    pub(super) fn require_within(&mut self, script: &str, limit: Duration) -> Result<String> {
        self.run.require_within(script, limit)
    }

    /// See [`Run::record`].
    pub(super) fn record(&mut self, title: &str, result: Result<String>) {
        self.run.record(title, result);
    }

    /// See [`Run::check`].
    pub(super) fn check(&mut self, title: &str, script: &str, status: i32, words: &[&str]) -> Result<String> {
        self.run.check(title, script, status, words)
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

impl Laboratory for Lab {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }

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
}
