//! A server and the guest that mounts its shares.

use super::script::{self, End, Part};
use super::server::Server;
use crate::qemu::Accelerator;
use crate::tally::Tally;
use crate::vm::image::Image;
use crate::vm::machine::Rack;
use crate::vm::run::{Laboratory, Run, SCRIPT_LIMIT, judged};
use anyhow::{Context, Result};
use array_process::array::Array;
use std::path::Path;
use std::time::{Duration, Instant};

const PRELUDE: &str = include_str!("prelude.sh");
/// Memory of the guest in MiB.
const MEMORY_MIB: u32 = 1024;
/// Directory in which most checks are made.
const WORK: &str = "/mnt/s/work";

/// Laboratory of one run: server, guest, and record of the checks.
pub(super) struct Lab {
    pub(super) server: Box<dyn Server>,
    pub(super) run: Run,
}

/// Protocol version of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V42,
    V41,
    V3,
}

impl Version {
    pub(super) const ALL: [Self; 3] = [Self::V42, Self::V41, Self::V3];

    /// Value of the mount option `vers`.
    pub(super) const fn number(self) -> &'static str {
        match self {
            Self::V42 => "4.2",
            Self::V41 => "4.1",
            Self::V3 => "3",
        }
    }
}

impl Lab {
    /// Boots the guest with our program and an archive of others, and tells it how to reach the server.
    /// `verbose`: print every output.
    pub(super) fn start(
        server: Box<dyn Server>,
        image: &Image,
        (tool, archive): (&Path, Option<&Path>),
        directory: &Path,
        accelerator: Accelerator,
        (verbose, ends_at): (bool, Instant),
    ) -> Result<Self> {
        let rack = Rack { image, tool, archive, memory_mib: MEMORY_MIB, directory, forwards: Vec::new() };
        let machine = rack.boot(accelerator)?;
        let mut lab = Self { server, run: Run::new(machine, verbose, ends_at) };
        lab.prepare().context("cannot prepare the guest")?;
        Ok(lab)
    }

    fn prepare(&mut self) -> Result<()> {
        let variables = format!("HOST=10.0.2.2 PORT={} OTHER=/mnt/other/work\nexport OTHER\n", self.server.port());
        self.run.require(&format!("cat >/run/prelude <<'WINDLASS-END'\n{variables}{PRELUDE}WINDLASS-END\n"))?;
        let prepared = "set -e
            ln -s /proc/self/fd /dev/fd
            mkdir -p /mnt/s /mnt/t /mnt/other /mnt/loop
            git config --system user.name guest
            git config --system user.email guest@example.org
            dmesg -C";
        self.run.require(prepared).map(drop)
    }

    /// Carries out a script, each check in a bash of its own in `directory`, which has to exit with 0.
    pub(super) fn checks(&mut self, prefix: &str, directory: &str, script: &str) -> Result<()> {
        self.checks_within(prefix, directory, script, SCRIPT_LIMIT)
    }

    /// Like [`Self::checks`], with another time limit of each check.
    pub(super) fn checks_within(&mut self, prefix: &str, directory: &str, script: &str, limit: Duration) -> Result<()> {
        for part in script::parts(script) {
            match part {
                Part::Check { title, commands } => {
                    let commands = format!("set -e\ncd {directory}\n{commands}");
                    let output = self.run.script(&commands, limit)?;
                    self.run.record(&format!("{prefix}{title}"), judged(&output, 0, &[]));
                }
                Part::Administer { arguments } => drop(self.array()?.command(&arguments)?),
                Part::Restart { end } => {
                    self.restart(end, Duration::ZERO)?;
                    self.run.record(&format!("{prefix}{}", end.title()), Ok(String::new()));
                }
            }
        }
        Ok(())
    }

    /// The array.
    ///
    /// # Errors
    ///
    /// The server is another.
    pub(super) fn array(&mut self) -> Result<&mut Array> {
        self.server.array().context("the server is not the array")
    }

    /// Whether the server is the array; prints that the step is skipped otherwise.
    pub(super) fn has_array(&mut self) -> bool {
        let has_array = self.server.array().is_some();
        if !has_array {
            println!("  skipped: the server is not the array");
        }
        has_array
    }

    /// Ends the array's process, and starts it again after `away`.
    pub(super) fn restart(&mut self, end: End, away: Duration) -> Result<()> {
        let array = self.array()?;
        match end {
            End::Kill => array.kill()?,
            End::Stop => array.stop()?,
        }
        std::thread::sleep(away);
        array.restart()
    }

    /// Mounts the share `s`, and runs the checks of scripts in a new directory of it.
    pub(super) fn work(&mut self, version: Version, scripts: &[&str]) -> Result<()> {
        let number = version.number();
        self.run.require(&format!("mount_share {number} s /mnt/s && rm -rf {WORK} && mkdir {WORK}"))?;
        for script in scripts {
            self.checks(&format!("{number}: "), WORK, script)?;
        }
        Ok(())
    }

    /// Removes what [`Self::work`] left; checks that the client sent no call twice.
    pub(super) fn end_work(&mut self) -> Result<()> {
        self.run.check("no call was sent twice", "equal $(sent_again /mnt/s) 0", 0, &[])?;
        self.remove_work()
    }

    /// Removes what [`Self::work`] left, where the server was away.
    pub(super) fn remove_work(&mut self) -> Result<()> {
        self.run.require(&format!("rm -r {WORK} && umount /mnt/s")).map(drop)
    }

    /// Ends the guest and the server and prints the summary.
    pub(super) fn finish(self) -> Result<Tally> {
        let mut tally = self.run.finish();
        let ended = self.server.finish();
        match &ended {
            Ok(words) => println!("pass   {words}"),
            Err(error) => println!("FAIL   {error:#}"),
        }
        tally += Tally::one(ended.is_ok());
        Ok(tally)
    }
}

impl Laboratory for Lab {
    fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    fn clean_up(&mut self) -> Result<()> {
        self.run.require(
            "pkill -f '^python3 - held '
            rm -f /tmp/held-*
            set -e
            for place in /mnt/loop /mnt/other /mnt/t /mnt/s; do
                while mountpoint -q $place; do umount $place; done
            done",
        )?;
        self.run.check(
            "the kernel's log has no complaint about NFS",
            "complaints; found=$?; dmesg -C; [ $found = 1 ]",
            0,
            &[],
        )?;
        Ok(())
    }
}
