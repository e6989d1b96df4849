//! Guest as a QEMU process: started, observed on its serial console, and killed.

use super::{Guest, Interruption};
use crate::qemu::{Accelerator, Hardware, network, open_kvm, path_option};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Prefix of every line that the guest sends to us.
const PREFIX: &str = "windlass-guest ";
/// Memory of the guest.
const MEMORY_MIB: u32 = 768;
/// Kernel parameters: console, exit instead of restart after a panic, and no features that slow
/// emulation down.
const KERNEL_PARAMETERS: &str =
    "console=ttyS0 quiet panic=-1 mitigations=off nokaslr nowatchdog audit=0 random.trust_cpu=on";
/// Boot time limit under KVM; if the kernel is slower, the machine is emulated.
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// Disk of the guest.
#[derive(Clone, Debug)]
pub(crate) enum DiskSource {
    /// File of this machine, with direct I/O.
    File(PathBuf),
    /// Unix socket of an NBD server.
    Nbd(PathBuf),
    /// URL of a logical unit that QEMU accesses itself. A write for which it has no space pauses
    /// the guest.
    Iscsi(String),
}

/// Settings that every boot shares.
pub(crate) struct Rack {
    pub(crate) guest: Guest,
    pub(crate) accelerator: Accelerator,
    pub(crate) disk: DiskSource,
    /// Ports of 127.0.0.1, each with the port of the guest to which it is forwarded.
    pub(crate) forwards: Vec<(u16, u16)>,
    /// Unix socket of QEMU's monitor.
    pub(crate) monitor: Option<PathBuf>,
    /// Directory for the console and QEMU's messages.
    pub(crate) directory: PathBuf,
    pub(crate) interruption: Interruption,
}

/// Running guest. Dropping it kills it.
pub(crate) struct Machine {
    process: Child,
    console: Receiver<String>,
    interruption: Interruption,
    log: PathBuf,
}

impl Rack {
    /// Path of the console log of all boots.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("console.log")
    }

    /// Resolves [`Accelerator::Auto`]: not every machine with KVM can boot the guest with it.
    pub(crate) fn choose_accelerator(&mut self) -> Result<()> {
        if self.accelerator != Accelerator::Auto {
            return Ok(());
        }
        self.accelerator = Accelerator::Tcg;
        if open_kvm().is_err() {
            println!("  this machine has no /dev/kvm for us: the guest is emulated");
            return Ok(());
        }
        self.accelerator = Accelerator::Kvm;
        let boots = self.boot("task=probe").and_then(|mut machine| machine.wait_for("up", PROBE_LIMIT));
        self.interruption.check()?;
        if boots.is_err() {
            println!("  KVM does not boot the guest here: it is emulated");
            self.accelerator = Accelerator::Tcg;
        }
        Ok(())
    }

    /// Boots the guest; `parameters` are variables of its first process.
    pub(crate) fn boot(&self, parameters: &str) -> Result<Machine> {
        let kvm = self.accelerator == Accelerator::Kvm;
        let hardware = Hardware { name: "windlass-power-cut", kvm, memory_mib: MEMORY_MIB };
        let parameters_of_kernel = format!("{KERNEL_PARAMETERS} {parameters}");
        let mut command = hardware.command((&self.guest.kernel, &self.guest.initramfs), &parameters_of_kernel)?;
        command.args(["-serial", "stdio"]);
        network(&mut command, &self.forwards, true);
        command.args(["-blockdev", &self.disk.option()?]);
        command.args(["-device", &self.disk.device()]);
        if let Some(socket) = &self.monitor {
            let socket = path_option(socket)?;
            command.args(["-qmp", &format!("unix:{socket},server=on,wait=off")]);
        }

        let log = self.log();
        let open = |path: &Path| File::options().create(true).append(true).open(path);
        let mut log_file = open(&log)?;
        writeln!(log_file, "--- {parameters}")?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file.try_clone()?);
        let mut process = command.spawn().context("cannot start QEMU")?;
        let stdout = process.stdout.take().context("QEMU has no standard output")?;
        let (sender, console) = mpsc::channel();
        thread::spawn(move || {
            let mut input = BufReader::new(stdout);
            let mut line = Vec::new();
            while matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                // Neither a full disk nor a dropped machine may stop the guest.
                let _ = writeln!(log_file, "{text}");
                let _ = sender.send(text);
                line.clear();
            }
        });
        Ok(Machine { process, console, interruption: self.interruption.clone(), log })
    }
}

impl DiskSource {
    /// Value of `-blockdev` for the node `disk`.
    fn option(&self) -> Result<String> {
        Ok(match self {
            Self::Iscsi(url) => {
                let parsed = url.strip_prefix("iscsi://").and_then(|rest| {
                    let (portal, rest) = rest.split_once('/')?;
                    let (target, lun) = rest.rsplit_once('/')?;
                    Some((portal, target, lun))
                });
                let (portal, target, lun) = parsed.with_context(|| format!("{url} names no logical unit"))?;
                format!(
                    "driver=raw,node-name=disk,file.driver=iscsi,file.transport=tcp,file.portal={portal},file.target={target},file.lun={lun},file.initiator-name=iqn.2026-01.org.example:guest"
                )
            }
            Self::File(path) => {
                let path = path_option(path)?;
                format!(
                    "driver=raw,node-name=disk,discard=unmap,cache.direct=on,file.driver=file,file.filename={path},file.cache.direct=on,file.discard=unmap"
                )
            }
            Self::Nbd(path) => {
                let path = path_option(path)?;
                format!(
                    "driver=raw,node-name=disk,discard=unmap,file.driver=nbd,file.server.type=unix,file.server.path={path},file.export=disk,file.discard=unmap"
                )
            }
        })
    }
}

impl DiskSource {
    /// Value of `-device` for the disk.
    fn device(&self) -> String {
        const DEVICE: &str = "virtio-blk-pci,drive=disk,write-cache=on,config-wce=off,logical_block_size=512";
        match self {
            Self::File(_) | Self::Nbd(_) => DEVICE.to_owned(),
            Self::Iscsi(_) => format!("{DEVICE},werror=enospc,rerror=stop"),
        }
    }
}

impl Machine {
    /// Waits until the guest prints a line that starts with `words`; returns the rest of it. Fails
    /// when the guest ends or fails first.
    pub(crate) fn wait_for(&mut self, words: &str, limit: Duration) -> Result<String> {
        let started = Instant::now();
        loop {
            self.interruption.check()?;
            match self.console.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => {
                    if let Some(rest) = said(&line).and_then(|said| said.strip_prefix(words)) {
                        return Ok(rest.to_owned());
                    }
                    self.complain(&line)?;
                }
                Err(RecvTimeoutError::Timeout) if started.elapsed() < limit => {}
                Err(RecvTimeoutError::Timeout) => {
                    bail!("the guest did not say {words:?} within {} s\n{}", limit.as_secs(), self.log_end());
                }
                Err(RecvTimeoutError::Disconnected) => bail!("the guest ended\n{}", self.log_end()),
            }
        }
    }

    /// Fails when the guest has ended or failed.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.interruption.check()?;
        while let Ok(line) = self.console.try_recv() {
            self.complain(&line)?;
        }
        match self.process.try_wait()? {
            Some(status) => bail!("QEMU ended by itself ({status})\n{}", self.log_end()),
            None => Ok(()),
        }
    }

    fn complain(&self, line: &str) -> Result<()> {
        let failed = said(line).is_some_and(|said| said.starts_with("failed: ") || said.starts_with("serve: ended"));
        if failed || line.contains("Kernel panic") || line.contains("panicked at") {
            // The last lines may not have arrived yet.
            thread::sleep(Duration::from_millis(500));
            bail!("the guest failed: {line}\n{}", self.log_end());
        }
        Ok(())
    }

    /// Cuts the power: kills QEMU.
    pub(crate) fn cut(mut self) -> Result<()> {
        self.kill().context("cannot kill QEMU")
    }

    fn kill(&mut self) -> std::io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    /// The last lines of the console.
    pub(crate) fn log_end(&self) -> String {
        let text = std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(15)).map(|line| format!("    {line}\n")).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A process that cannot be killed is left.
        let _ = self.kill();
    }
}

/// Message to us in a line of the console, which may begin with other text.
fn said(line: &str) -> Option<&str> {
    line.split_once(PREFIX).map(|(_, said)| said)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn paths_with_commas_are_one_value() {
        let option = DiskSource::File("/a,b/disk".into()).option().unwrap();
        assert!(option.contains("filename=/a,,b/disk,file.cache.direct=on"), "{option}");
    }

    #[test]
    fn a_logical_unit_is_reached_by_qemu_itself() {
        let source = DiskSource::Iscsi("iscsi://127.0.0.1:3260/iqn.2026-01.org.example:t/7".into());
        let option = source.option().unwrap();
        assert!(option.contains("portal=127.0.0.1:3260,file.target=iqn.2026-01.org.example:t,file.lun=7,"), "{option}");
        assert!(source.device().ends_with(",werror=enospc,rerror=stop"));
        assert!(DiskSource::Iscsi("iscsi://127.0.0.1".into()).option().is_err());
    }

    #[test]
    fn the_guest_is_understood_after_noise() {
        assert_eq!(said("\u{1b}[0mwindlass-guest up"), Some("up"));
        assert_eq!(said("[ 1.0] random: something"), None);
    }
}
